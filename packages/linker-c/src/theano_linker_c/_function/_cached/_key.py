"""The name of a function on disk: a hash of its graph, of the caller's arguments, and of the environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Op, Origin, Variable, current_origin
from theano_graph.hashing import GraphScope, StructuralHasher, hex_digest

from ...compiler import CompilerOptions
from ...kernels._build import library
from ...modes import Mode
from ...program import loop_of_step
from ...runtime._native_machine import HAS_RUNTIME, runtime
from ...targets import PYTHON
from .._signature._collect import Signature
from ._environment import Environment
from ._loaded import changed_constants

#: Goes up when entries are written in another way.
_FORMAT = "8"


class Given:
    """The graph of a function before it is rewritten: entries refer to it.

    Parameters
    ----------
    leaves : list of Variable
    ops : list of Op
        Of the nodes, in order.
    origins : list of Origin or None
        The last one is where the function was asked for.
    """

    def __init__(self, leaves: list[Variable], ops: list[Op], origins: list[Origin | None]) -> None:
        self.leaves = leaves
        self.ops = ops
        self.origins = origins


class FunctionKey:
    """Names a function; the graph is looked at once, before it is rewritten.

    Parameters
    ----------
    signature : Signature
    inputs, outputs : sequence of Variable
        The graph, the caller's own or a copy of it.
    mode : Mode
    leaf_of : callable or None
        Gives the variable that stands in the function for a leaf of the graph; None for the function's own graph.

    Attributes
    ----------
    given : Given
    unused : list of int
        The inputs that nothing depends on.
    overwrites : bool
        Whether an op of the graph overwrites an operand.

    Raises
    ------
    NoStructuralHashError
        If the graph or the rules contain something that cannot be compared between processes.
    """

    def __init__(
        self,
        signature: Signature,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        mode: Mode,
        leaf_of: Callable[[Variable], Variable] | None,
    ) -> None:
        hasher = StructuralHasher()
        scope = GraphScope(hasher, True, runtime.graph_rows if HAS_RUNTIME else None, copied=leaf_of is not None)
        scope.add_inputs(inputs)
        scope.add(outputs)
        ops = [node.op for node in scope.nodes]
        leaves = scope.leaves if leaf_of is None else [leaf_of(v) for v in scope.leaves]
        self.given = Given(leaves, ops, [*scope.origins(), current_origin()])
        self.unused = [i for i, variable in enumerate(inputs) if not scope.used[scope.numbers[variable]]]
        self.overwrites = any(op.destroy_map for op in scope.ops)
        self.mode = mode
        self._hasher = hasher  # it keeps alive the objects that it knows by identity
        self._environment = Environment(hasher)
        parts = [_FORMAT, scope.digest(outputs), repr(loop_of_step())]
        parts += [*_of_mode(mode), *_of_signature(signature)]
        self._noted = [part.encode() for part in parts]
        self._noted += [name.encode() + b" " + hasher.of(value) for name, value in changed_constants()]

    @property
    def has_user_code(self) -> bool:
        """Whether code of the user's takes part."""
        return self._hasher.has_user_code

    def name(self, options: CompilerOptions) -> str | None:
        """Return the name of the file; None where the compiler does not work, or rewrites have been registered since.

        A function built without the compiler, as one that runs on devices alone, has a name of its own.
        """
        environment = self._environment.digest()
        if environment is None:
            return None
        toolchain = b"no compiler was asked"
        if self.mode.linker.target is PYTHON:
            toolchain = b"no compiler"
        else:
            known = library.known_toolchain(options)
            if known is not None:
                toolchain = known.identity.encode()
            elif library.lacks_compiler(options):
                return None
        return hex_digest([*self._noted, environment.encode(), toolchain])


def _of_mode(mode: Mode) -> list[str]:
    linker, query = mode.linker, mode.query
    parts: list[Any] = [type(linker).__name__, linker.name, linker.target.name, linker.target.present.name]
    parts += [linker.frees, linker.native_only, linker.lazy]
    waiting = [] if query is None else [query]
    while waiting:
        one = waiting.pop()
        parts += [sorted(one.include), sorted(one.require), sorted(one.exclude), one.position_cutoff, one.name]
        for name, inner in sorted(one.subquery.items(), key=lambda item: item[0]):
            parts.append(name)
            waiting.append(inner)
    return [repr(part) for part in parts]


def _of_signature(signature: Signature) -> list[str]:
    parts: list[Any] = [signature.update_targets, signature.single]
    for item in signature.inputs:
        flags = (item.strict, item.allow_downcast, item.mutable, item.borrow, item.implicit, item.shared)
        parts.append((item.name, *flags, item.update is not None, item.value is None))
    parts += [(out.borrow, out.return_internal_type) for out in signature.outputs]
    return [repr(part) for part in parts]
