"""How the ops on tensors look in formulas: see :func:`theano_graph.pp`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from theano_graph import (
    Fragment,
    FunctionPrinter,
    Op,
    Operand,
    OperatorPrinter,
    PatternPrinter,
    Place,
    TransparentPrinter,
    Variable,
    pprint,
)
from theano_linker_c import scalar

from .creation import Alloc
from .elemwise import DimShuffle, Elemwise
from .indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Slice, Subtensor
from .indexing.entries import NEWAXIS, SYMBOL
from .joining import Join
from .linear import Dot
from .shape import MakeVector, Rebroadcast

#: Operators bind as in Python; the higher, the tighter. Comparisons are written as functions.
_OR, _XOR, _AND, _SUM, _PRODUCT, _SIGN, _POWER, _MEMBER = range(1, 9)


class _ElemwisePrinter:
    """Writes the operation on arrays as the one on numbers."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        node = variable.owner
        assert node is not None
        assert isinstance(node.op, Elemwise)
        op = node.op.scalar_op
        printer = position.printer.of_op(op)
        if printer is not None:
            return printer.fragments(variable, position)
        name = str(op) if len(node.outputs) == 1 else f"{op}.{variable.index}"
        return FunctionPrinter(name).fragments(node.outputs[0], position)


class _CompositePrinter:
    """Writes a fused op as the formula of its inputs ``i0``, ``i1``, ..., and then the inputs."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        node = variable.owner
        assert node is not None
        composite = cast(scalar.Composite, node.op.scalar_op if isinstance(node.op, Elemwise) else node.op)
        formula = position.printer(composite.outputs[variable.index or 0], minimal=position.minimal, max_length=400)
        return FunctionPrinter(f"Composite{{{'; '.join(formula.splitlines())}}}").fragments(variable, position)


class _CastPrinter:
    """Writes ``int32(x)``."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        return FunctionPrinter(str(getattr(variable.type, "dtype", "cast"))).fragments(variable, position)


class DimShufflePrinter:
    """Hides a dimshuffle that only adds dimensions in front; the reverse of all others is ``x.T``."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        """Return the input, its transpose or a call."""
        node = variable.owner
        assert node is not None
        op: DimShuffle = node.op
        first = next((k for k, axis in enumerate(op.order) if axis != "x"), len(op.order))
        order, axes = list(op.order[first:]), list(range(op.input_ndim))
        if order == axes:
            return [Operand(node.inputs[0], position.precedence)]
        if order == axes[::-1]:
            return [Operand(node.inputs[0], _MEMBER), ".T"]
        return FunctionPrinter(f"DimShuffle{{{', '.join(map(str, order))}}}").fragments(variable, position)


class MakeVectorPrinter:
    """Writes ``[x, y]``."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        """Return the numbers in brackets."""
        node = variable.owner
        assert node is not None
        pieces: list[Fragment] = ["["]
        for i, x in enumerate(node.inputs):
            pieces += [", ", Operand(x)] if i else [Operand(x)]
        return [*pieces, "]"]


class SubtensorPrinter:
    """Writes ``x[1:n, 0]``."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        """Return the array and the index."""
        node = variable.owner
        assert node is not None
        x, *numbers = node.inputs
        return [Operand(x, _MEMBER), *_index(node.op, numbers)]


class _IncSubtensorPrinter:
    """Writes ``inc_subtensor(x[1:n], y)``."""

    def fragments(self, variable: Variable, position: Place) -> Iterable[Fragment]:
        node = variable.owner
        assert node is not None
        x, y, *numbers = node.inputs
        op: IncSubtensor = node.op
        name = "set_subtensor" if op.set_instead_of_inc else "inc_subtensor"
        return [f"{name}(", Operand(x, _MEMBER), *_index(op, numbers), ", ", Operand(y), ")"]


def _index(op: Subtensor | IncSubtensor, numbers: list[Variable]) -> list[Fragment]:
    """Return the index in brackets, its symbolic numbers in their places."""
    pieces: list[Fragment] = ["["]
    remaining = iter(numbers)
    for i, entry in enumerate(op.entries):
        if i:
            pieces.append(", ")
        if not isinstance(entry, Slice):
            # A fixed position looks as the constant that it is in a tree.
            fixed = "None" if entry is NEWAXIS else f"Constant{{{entry}}}"
            pieces.append(Operand(next(remaining)) if entry is SYMBOL else fixed)
            continue
        bounds = (entry.start, entry.stop) if entry.step is None else (entry.start, entry.stop, entry.step)
        for j, bound in enumerate(bounds):
            if j:
                pieces.append(":")
            if bound is not None:
                pieces.append(Operand(next(remaining)) if bound is SYMBOL else str(bound))
    return [*pieces, "]"]


_OPERATORS: tuple[tuple[Op, OperatorPrinter], ...] = (
    (scalar.or_, OperatorPrinter("|", _OR, "both")),
    (scalar.xor, OperatorPrinter("^", _XOR, "both")),
    (scalar.and_, OperatorPrinter("&", _AND, "both")),
    (scalar.add, OperatorPrinter("+", _SUM, "both")),
    (scalar.sub, OperatorPrinter("-", _SUM)),
    (scalar.mul, OperatorPrinter("*", _PRODUCT)),
    (scalar.true_div, OperatorPrinter("/", _PRODUCT)),
    (scalar.int_div, OperatorPrinter("//", _PRODUCT)),
    (scalar.mod, OperatorPrinter("%", _PRODUCT)),
    (scalar.neg, OperatorPrinter("-", _SIGN)),
    (scalar.pow, OperatorPrinter("**", _POWER, "right")),
)


def _register() -> None:
    for op, printer in _OPERATORS:
        pprint.assign(op, printer)
    pprint.assign(scalar.second, FunctionPrinter("fill"))
    pprint.assign(scalar.abs, PatternPrinter("|{0}|"))
    pprint.assign(scalar.Cast, _CastPrinter())
    pprint.assign(Join, FunctionPrinter("join"))
    pprint.assign(Alloc, FunctionPrinter("alloc"))
    pprint.assign(scalar.Composite, _CompositePrinter())
    pprint.assign(Elemwise, _ElemwisePrinter())
    pprint.assign(DimShuffle, DimShufflePrinter())
    pprint.assign(MakeVector, MakeVectorPrinter())
    pprint.assign(Rebroadcast, TransparentPrinter())
    pprint.assign(Dot, OperatorPrinter("\\dot", _PRODUCT))
    for read in (Subtensor, AdvancedSubtensor):
        pprint.assign(read, SubtensorPrinter())
    for write in (IncSubtensor, AdvancedIncSubtensor):
        pprint.assign(write, _IncSubtensorPrinter())


_register()
