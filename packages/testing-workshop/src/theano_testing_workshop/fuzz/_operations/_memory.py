"""Memory: ops that overwrite their operands, choices, overlapping arguments, and storage that variables share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Constant, Op, Variable, pullback
from theano_linker_c import SharedVariable
from theano_tensor.control import ifelse

from .._draw import ALL, FLOATS, REALS, Draw, NoOperands
from .._program import OVERLAPS, Leaf, Memory, Node, Operation, Options, Program, Unbuildable, leaves_of

Drawn = tuple[Sequence[int], Options]

#: Operations whose first operand is written into.
WRITES = (
    "set_subtensor",
    "inc_subtensor",
    "inc_rows",
    "set_rows",
    "inc_mixed",
    "set_mask",
    "gemm",
    "gemm_of_transposes",
    "gemv",
    "ger",
)


class Bump(Op):
    """Add one to a number of each element of the operand itself, and return the operand."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        """Return a node whose result has the type of the operand."""
        x = tt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        """Overwrite the operand."""
        inputs[0][...] += 1
        output_storage[0][0] = inputs[0]


class Spoil(Op):
    """Twice the operand, which holds nothing of use afterwards."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        """Return a node whose result has the type of the operand."""
        x = tt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        """Overwrite the operand, and return another array."""
        output_storage[0][0] = np.asarray(inputs[0] + inputs[0], dtype=inputs[0].dtype)
        inputs[0][...] = 99


@pullback.register(Bump)
def _pullback_bump(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pullback.register(Spoil)
def _pullback_spoil(node: Apply, cotangents: list[Any]) -> list[Variable | None]:
    return [cotangents[0] + cotangents[0]]


bump, spoil = Bump(), Spoil()
_IMPORTS = "from theano_tensor.control import ifelse\nfrom theano_testing_workshop.fuzz import bump, spoil"
#: Layouts of arrays that cannot be written.
FIXED = ("fixed", "broadcast")
_KINDS = tuple(name for name in ALL if name != "bool")


def memory_operations() -> list[Operation]:
    """Return the operations of this module."""

    def plain_text(name: str) -> Any:
        return lambda names, _: f"{name}({', '.join(names)})"

    return [
        Operation("bump", bump, lambda x: x + x.dtype.type(1), _spoiled, plain_text("bump"), 1.0, imports=_IMPORTS),
        Operation("spoil", spoil, lambda x: x + x, _spoiled, plain_text("spoil"), 0.7, imports=_IMPORTS),
        Operation(
            "ifelse",
            ifelse,
            lambda c, x, y: x if c else y,
            _alternatives,
            plain_text("ifelse"),
            0.12,
            imports=_IMPORTS,
        ),
    ]


def roots(variable: Variable) -> Iterable[Variable]:
    """Yield the variables in whose memory a value may lie, as maps of views and of destroyed inputs tell."""
    pending = [variable]
    while pending:
        v = pending.pop()
        node = v.owner
        maps = () if node is None or v.index is None else (node.op.view_map, node.op.destroy_map)
        sources = [s for item in maps for s in item.get(v.index, ())] if node is not None else []
        if node is None or not sources:
            yield v
        pending += [node.inputs[s] for s in sources] if node is not None else []


def is_spoilable(variable: Variable) -> bool:
    """Tell whether a program may have the memory of a value overwritten: it belongs to nobody else for good."""
    return not any(isinstance(v, (Constant, SharedVariable)) for v in roots(variable))


def _spoiled(d: Draw) -> Drawn:
    return [d.pick(_KINDS, where=lambda i: is_spoilable(d.variables[i]))], {}


def _alternatives(d: Draw) -> Drawn:
    x = d.pick(ALL)
    y = d.pick((d.dtype(x),), where=lambda i: d.variables[i].type == d.variables[x].type and d.shape(i) == d.shape(x))
    return [d.pick(("int64", "int8", "bool"), 0), x, y], {}


def begin_memory(d: Draw) -> list[tuple[int, int, str]]:
    """Add leaves that are to be overwritten, or that share memory; return which overlaps with which, and how."""
    overlaps = []
    for _ in range(d.between(1, 2)):
        kind = str(d.one_of(("input", "shared")))
        dtype = d.any_dtype(REALS if d.chance(0.4) else FLOATS)
        base = d.leaf(dtype, d.any_shape((1, 1, 2, 2, 3)), kind=kind)
        d.preferred.append(base)
        if d.chance(0.55):
            how = str(d.one_of(tuple(OVERLAPS)))
            value = OVERLAPS[how](d.items[base].array())  # type: ignore[union-attr]
            other = "input" if d.chance(0.2) else kind
            part = d.leaf(dtype, value.shape, kind=other, values=value)
            d.preferred.append(part)
            overlaps.append((part, base, how))
    return overlaps


def write_into_storage(d: Draw, operations: Mapping[str, Operation]) -> list[tuple[int, int]]:
    """Add writes into shared leaves, at times one after the other; return each leaf with its last write."""
    matches = []
    known = [operations[name] for name in WRITES if name in operations]
    for leaf in [i for i, item in enumerate(d.items) if isinstance(item, Leaf) and item.kind == "shared"]:
        target = leaf
        for _ in range(d.between(1, 3) if known else 0):
            written = _written(d, d.one_of(known), target)
            if written is None:
                continue
            target = written
            _spoil_operand(d, operations, written)
        if target != leaf:
            matches.append((leaf, target))
    return matches


def _written(d: Draw, operation: Operation, target: int) -> int | None:
    d.forced = target
    try:
        operands, options = operation.draw(d)
        if target not in operands:
            return None
        return d.add_node(operation, operands, options, lambda value: value.size < 1000)
    except (NoOperands, Unbuildable):
        return None
    finally:
        d.forced = None


def _spoil_operand(d: Draw, operations: Mapping[str, Operation], written: int) -> None:
    """Have an operand of a write overwritten, at times."""
    operands: Sequence[int] = d.items[written].operands  # type: ignore[union-attr]
    able = [i for i in operands if d.dtype(i) != "bool" and is_spoilable(d.variables[i])]
    names = [name for name in ("bump", "spoil") if name in operations]
    if able and names and d.chance(0.4):
        with contextlib.suppress(NoOperands, Unbuildable):
            d.add_node(operations[d.one_of(names)], [d.one_of(able)], {}, lambda value: True)


def draw_memory(d: Draw, overlaps: Sequence[tuple[int, int, str]]) -> Memory:
    """Say which arguments may be overwritten, and whether results are borrowed."""
    inputs = [i for i, item in enumerate(d.items) if isinstance(item, Leaf) and item.kind == "input"]
    return Memory(tuple(i for i in inputs if d.chance(0.6)), tuple(overlaps), d.chance(0.5))


def may_spoil(program: Program) -> bool:
    """Tell whether a program has ops that overwrite, arguments maybe."""
    return any(isinstance(item, Node) and item.operation.name in ("bump", "spoil") for item in program.items)


def arrays_of(
    program: Program, kind: str, argument: Mapping[int, Any] | None = None, overlap: bool = True
) -> list[Any]:
    """Return arrays for the leaves of a kind, overlapping as the program says where their values allow that.

    Parameters
    ----------
    program : Program
    kind : {"input", "shared"}
    argument : mapping of int to array, optional
        Arrays of other leaves that these may overlap with.
    overlap : bool
        False: all have memory of their own.
    """
    numbers = leaves_of(program, kind)
    leaves: dict[int, Any] = {i: program.items[i] for i in numbers}
    if may_spoil(program):
        # Arrays that the program overwrites have to be writable; for donated ones, the machine sees to that.
        donated = program.memory.donated if overlap else ()
        leaves = {i: replace(x, layout="c") if x.layout in FIXED and i not in donated else x for i, x in leaves.items()}
    arrays: dict[int, Any] = {**(argument or {}), **{i: leaf.array() for i, leaf in leaves.items()}}
    for part, base, how in program.memory.overlaps if overlap else ():
        full: Any = arrays.get(base)
        if part not in numbers or full is None or (how == "transposed" and full.ndim != 2) or not full.ndim:
            continue
        leaf, view = leaves[part], OVERLAPS[how](full)
        if view.dtype == leaf.value.dtype and view.shape == leaf.value.shape and view.tobytes() == leaf.value.tobytes():
            arrays[part] = view
    return [arrays[i] for i in numbers]
