"""Thunks: nodes whose C code is compiled and ready to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from theano_graph import Apply, MissingRuleError, format_error, has_own_thunk, record

from ..._perform import params_of, perform_runner
from ...compiler import CompilerOptions
from ...kernels import stand_in
from .._ask import NoCCode
from ._node_code import NodeCode, has_c_code, has_perform, node_code_of
from ._units import LoadedCode, library


@record
class CThunk:
    """The C code of one node, with a state of its own.

    Parameters
    ----------
    capsule : object
        The object that machines in C run: it holds a ``theano_thunk`` (thunk.h). The state is freed with it.
    code : LoadedCode
    """

    capsule: Any
    code: LoadedCode

    def __call__(self, values: Sequence[Any], storage: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """Run the code.

        Parameters
        ----------
        values : sequence
            One for each input.
        storage : sequence, optional
            For each output, an object that stands in its cell and may be taken over, or None.

        Returns
        -------
        tuple
            A value for each output.
        """
        return self.code.call(self.capsule, tuple(values), None if storage is None else tuple(storage))


class NoCompilerError(MissingRuleError, RuntimeError):
    """An op has C code only, and nothing can compile it."""


def offers_c_code(node: Apply) -> bool:
    """Tell whether a node may be run by its op's own C code."""
    return has_c_code(node) and not has_own_thunk(node.op)


def needs_c_code(node: Apply) -> bool:
    """Tell whether nothing but its op's own C code can run a node."""
    return offers_c_code(node) and not has_perform(node.op)


def c_thunks(nodes: Sequence[Apply], options: CompilerOptions | None = None) -> list[CThunk | None]:
    """Return a thunk for each node, with as few runs of the compiler as possible.

    Parameters
    ----------
    nodes : sequence of Apply
        Nodes of one function.
    options : CompilerOptions, optional
        Compiler and directory; from the configuration by default.

    Returns
    -------
    list of CThunk or None
        None where the op has no C code for the node, or nothing can compile it, and `perform` is to be run.

    Raises
    ------
    CompileError
        If the compiler refuses an op's code; the text names the op and the file that holds the code.
    NoCompilerError
        If the op has no `perform` either.
    """
    thunks: list[CThunk | None] = [None] * len(nodes)
    if not any(map(has_c_code, nodes)):
        return thunks
    of_config = options is None
    options = CompilerOptions.from_config() if options is None else options
    units: list[tuple[int, NodeCode, Any]] = []
    for i, node in enumerate(nodes):
        if has_c_code(node):
            params = next(iter(params_of(node)), None)
            node_code = _node_code(node, params, options)
            if node_code is not None:
                units.append((i, node_code, params))
    node_codes, other = [node_code for _, node_code, _ in units], stand_in.get() if of_config else None
    loaded = [] if not units else library.load(node_codes, options) if other is None else other.load(node_codes)
    if loaded is None:
        for _, node_code, _ in units:
            _require_perform(node_code.node, None, options)
        return thunks
    for (i, _, params), code in zip(units, loaded, strict=True):
        with _named(nodes[i], "the state of its C code was made"):
            thunks[i] = CThunk(code.make(params), code)
    return thunks


def c_thunk(node: Apply, options: CompilerOptions | None = None) -> CThunk | None:
    """Return the thunk of one node; see :func:`c_thunks`."""
    return c_thunks([node], options)[0]


def run_c_code(node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> bool:
    """Compute a node by its op's C code, in the form of `perform`; False where the op has none.

    Raises
    ------
    CompileError, NoCompilerError
        If the code cannot be compiled.
    """
    if not has_c_code(node) or not isinstance(inputs, Sequence):
        return False
    thunk = c_thunk(node)
    if thunk is None:
        return False
    for cell, value in zip(output_storage, thunk(inputs), strict=True):
        cell[0] = value
    return True


def storage_thunk(
    node: Apply,
    storage_map: Mapping[Any, list[Any]],
    compute_map: Mapping[Any, list[Any]],
    impl: str | None = None,
) -> Callable[[], None]:
    """Return a function without arguments that runs a node on cells, as `make_thunk` of an op does.

    Parameters
    ----------
    node : Apply
    storage_map, compute_map : mapping of Variable to one-element list
        The values, and whether they have been computed.
    impl : {"py", "c"}, optional
        "py" runs `perform`; "c" insists on C code; by default C code runs where there is any.

    Raises
    ------
    NoCompilerError
        If `impl` is "c" and there is no C code, or nothing to compile it.
    """
    thunk = c_thunk(node) if impl != "py" or not has_perform(node.op) else None
    if thunk is None and impl == "c":
        raise NoCompilerError(format_error(f"{node.op} has no C code for this node", hint="ask for impl='py'"))
    run: Callable[[list[Any]], Sequence[Any]] = perform_runner(node) if thunk is None else thunk

    def run_once() -> None:
        results = run([storage_map[variable][0] for variable in node.inputs])
        for variable, value in zip(node.outputs, results, strict=True):
            storage_map[variable][0] = value
            compute_map[variable][0] = True

    return run_once


def _node_code(node: Apply, params: Any, options: CompilerOptions) -> NodeCode | None:
    try:
        with _named(node, "its C code was asked for"):
            return node_code_of(node, params, options.command)
    except NoCCode as reason:
        _require_perform(node, reason, options)
        return None


@contextmanager
def _named(node: Apply, when: str) -> Iterator[None]:
    """Add to exceptions for the user whose op it was that raised them."""
    try:
        yield
    except NoCCode:
        raise
    except Exception as error:
        origin = "" if node.origin is None else f" applied at {node.origin}"
        error.add_note(f"  in {node.op}{origin}, when {when}")
        raise


def _require_perform(node: Apply, reason: NoCCode | None, options: CompilerOptions) -> None:
    if has_perform(node.op):
        return
    op_class = type(node.op).__qualname__
    where = [] if node.origin is None else [f"{node.op} applied at {node.origin}"]
    if reason is not None:
        what, hint = f"op {node.op} cannot be run: {reason}", f"complete the C code, or define {op_class}.perform"
    else:
        command = options.command or "none is set"
        what = f"op {node.op} has C code only, and there is no C compiler with Python's headers ({command})"
        hint = f"install gcc or clang, set THEANO_FLAGS=cxx=<path of a compiler>, or define {op_class}.perform"
    raise NoCompilerError(format_error(what, context=where, hint=hint)) from reason
