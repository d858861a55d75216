"""Computing a graph as written with its roundings and special values moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any
from unittest import mock

import numpy as np

from theano_graph import Constant, graph_inputs, toposort
from theano_linker_c import SharedVariable, scalar
from theano_scan import Loop, Scan
from theano_tensor import (
    Alloc,
    DimShuffle,
    Dot,
    Join,
    Max,
    Min,
    Rebroadcast,
    Reshape,
    SpecifyShape,
    Split,
    Subtensor,
    Sum,
)
from theano_tensor.builders import GraphOp, OpFromGraph
from theano_tensor.elemwise import Elemwise
from theano_tensor.indexing import AdvancedSubtensor
from theano_tensor.nnet import LogSoftmax

#: Scalar operations whose results are exact.
_EXACT_SCALARS = frozenset(
    [
        *(scalar.neg, scalar.abs, scalar.sgn, scalar.lt, scalar.le, scalar.gt, scalar.ge, scalar.eq, scalar.neq),
        *(scalar.isnan, scalar.isinf, scalar.switch, scalar.maximum, scalar.minimum, scalar.clip, scalar.second),
        *(scalar.identity, scalar.real, scalar.imag, scalar.conj, scalar.floor, scalar.ceil, scalar.trunc),
        *(scalar.round_half_to_even, scalar.round_half_away_from_zero),
    ]
)
_EXACT_OPS = (
    *(Alloc, DimShuffle, Join, Max, Min, Rebroadcast, Reshape, SpecifyShape, Split, Subtensor, AdvancedSubtensor),
)
#: Units in the last place by which results are moved.
UNITS = 4.0


class Perturbed:
    """The graph of some variables, to be computed several times.

    Parameters
    ----------
    outputs : sequence of Variable
    rng : numpy.random.Generator
    """

    def __init__(self, outputs: Sequence[Any], rng: np.random.Generator) -> None:
        self._outputs = list(outputs)
        self._roots = graph_inputs(self._outputs)
        self._nodes = toposort(self._roots, self._outputs)
        self._rng = rng
        #: Whether sums that nearly cancel may do so exactly, and products spread infinities and NaN, rather than be
        #: made finite: in every other sample, so that each result is also seen otherwise.
        self._cancels = False
        #: On which side of zero numbers replace infinities and NaN, or at zero: a comparison may hang on it.
        #: None is anywhere.
        self._sides: Iterator[float | None] = cycle((1.0, -1.0, 0.0, None))
        self._side: float | None = None
        #: Results by operands with nothing moved: the next sample starts from the same ones.
        self._before: tuple[Mapping[Any, Any], dict[Any, Any]] | None = None

    def sample(self, values: Mapping[Any, Any], kind: str) -> list[Any]:
        """Return the outputs with roundings moved (``"rounding"``), or special values as well (``"special"``).

        Parameters
        ----------
        values : mapping
            Of the inputs and shared variables, which are not changed afterwards.
        kind : str
        """
        self._cancels = not self._cancels
        if not self._cancels:
            self._side = next(self._sides)
        return self._computed(values, kind)

    def _computed(self, values: Mapping[Any, Any], kind: str) -> list[Any]:
        known: dict[Any, Any] = dict(values)
        for root in self._roots:
            if isinstance(root, Constant):
                known[root] = root.data
            elif root not in known and isinstance(root, SharedVariable):
                known[root] = root.get_value()
        with np.errstate(all="ignore"):
            if self._before is None or self._before[0] is not values:
                self._before = values, self._as_written(known)
            plain = self._before[1]
            for node in self._nodes:
                self._run(node, known, kind, plain)
        return [known[v] for v in self._outputs]

    def _as_written(self, known: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return all values with nothing moved."""
        match = dict(known)
        for node in self._nodes:
            storage: list[list[Any]] = [[None] for _ in node.outputs]
            node.op.perform(node, _kept(node, [match[x] for x in node.inputs]), storage)
            match.update((y, value) for y, (value,) in zip(node.outputs, storage, strict=True))
        return match

    def _run(self, node: Any, known: dict[Any, Any], kind: str, plain: Mapping[Any, Any]) -> None:
        operands = [known[x] for x in node.inputs]
        # Sparse matrices and the like are left as they are.
        moves = any(getattr(y.type, "dtype", "-")[:1] in "fc" for y in node.outputs) and not _is_exact(node)
        if moves and not _is_cast(node.op):
            operands = [self._moved(x) for x in operands]
        results = self._performed(node, operands, [plain[x] for x in node.inputs], kind)
        for y, value in zip(node.outputs, results, strict=True):
            result = value
            if isinstance(result, np.ndarray) and result.dtype.kind in "fc" and moves:
                result = self._moved(result, vanishing=_may_vanish(operands, result))
                if isinstance(node.op, Sum) and operands[0].dtype.kind in "iu":
                    result = self._reordered(result, _sum_of_sizes(node, operands))
                if self._cancels and _adds(node.op):
                    result = self._cancelled(result, _sum_of_sizes(node, operands))
                if isinstance(node.op, LogSoftmax):
                    result = self._shifted(result, operands[0])
                if kind == "special":
                    result = self._special(node.op, operands, result, plain[y])
            known[y] = result

    def _performed(self, node: Any, argument: list[Any], plain: Sequence[Any], kind: str) -> list[Any]:
        """Return the result of an op; its decisions where numbers nearly agree are random."""
        if isinstance(node.op, OpFromGraph):
            return self._inner(node.op, kind)(argument)
        if _is_switch(node.op) and argument[0].dtype.kind in "fc":
            truth = self._truth(argument[0], plain[0], argument[0] != 0)
            argument = [truth.astype(argument[0].dtype), *argument[1:]]
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        with self._moved_steps(node.op, kind):
            node.op.perform(node, _kept(node, argument), storage)
        results = [value for (value,) in storage]
        if _is_cast(node.op):
            results[0] = self._held(argument[0], results[0])
            if results[0].dtype.kind == "b":
                results[0] = self._truth(argument[0], plain[0], results[0])
        elif _is_equality(node.op):
            results[0] = self._undecided(argument, plain, results[0])
        return results

    def _inner(self, op: GraphOp, kind: str) -> Callable[[Sequence[Any]], list[Any]]:
        """Return a function for the graph inside of an op, with its roundings moved like those of the graph itself."""
        inner = Perturbed(op.fgraph.outputs, self._rng)
        inner._cancels, inner._side = self._cancels, self._side
        return lambda values: inner._computed(dict(zip(op.fgraph.inputs, values, strict=True)), kind)

    @contextmanager
    def _moved_steps(self, op: Any, kind: str) -> Iterator[None]:
        """Let each step of a loop, if the op is one, move its roundings while this lasts."""
        if not isinstance(op, Scan):
            yield
            return
        loop = op if isinstance(op, Loop) else op.whole_loop
        step = self._inner(loop, kind)
        with (
            mock.patch.object(loop, "runner", lambda: step),
            mock.patch.object(loop, "memory", replace(loop.memory, preallocate=False)),
        ):
            yield

    def _special(self, op: Any, argument: Sequence[Any], result: Any, plain: Any) -> Any:
        """Return a result with infinities and NaN made finite, or spread further than the op as written does."""
        if not self._cancels:
            return self._made_finite(result, plain)
        if isinstance(op, Dot):
            return _spread(argument, result)
        if isinstance(op, Sum) and not argument[0].size:
            # A factor that rewriting takes out of the sum of nothing may be infinite.
            return np.full_like(result, np.nan)
        return result

    def _shifted(self, result: Any, argument: Any) -> Any:
        """Return a difference moved as far as the roundings of its operands go."""
        size = UNITS * float(np.finfo(result.dtype).eps) * max(1.0, float(np.abs(argument).max(initial=0.0)))
        moved = result + size * self._rng.uniform(-1, 1, result.shape)
        gone = (np.abs(result) <= size) & (self._rng.random(result.shape) < 0.5)
        return np.where(gone, 0.0, moved).astype(result.dtype)

    def _reordered(self, result: Any, largest: Any) -> Any:
        """Return a sum of integers in floating point with roundings of its own: those of its terms say nothing."""
        size = UNITS * float(np.finfo(result.dtype).eps) * largest
        return (result + size * self._rng.uniform(-1, 1, result.shape)).astype(result.dtype)

    def _cancelled(self, result: Any, largest: Any) -> Any:
        """Return a sum with exact zeros at times, where it is as small as roundings: some orders give them.

        They are drawn for each element, or for all at once: equal numbers are all equal to their mean, or none is.
        """
        gone = np.abs(result) <= 4 * UNITS * float(np.finfo(result.dtype).eps) * largest
        drawn = self._rng.random(result.shape if self._rng.random() < 0.5 else ()) < 0.5
        return np.where(gone & drawn, 0, result).astype(result.dtype)

    def _held(self, argument: Any, result: Any) -> Any:
        """Return a conversion with random integers for numbers that the dtype does not hold: C defines no result."""
        if result.dtype.kind not in "iu" or argument.dtype.kind != "f":
            return result
        info = np.iinfo(result.dtype)
        held = (argument > float(info.min) - 1) & (argument < float(info.max) + 1)
        return np.where(held, result, self._rng.integers(0, 100, result.shape).astype(result.dtype))

    def _undecided(self, argument: Sequence[Any], plain: Sequence[Any], result: Any) -> Any:
        """Return a comparison with random answers where numbers nearly agree: others would hardly ever be equal.

        They do where they are apart by some units in the last place, or by not much more than they were moved.
        """
        a, b = np.broadcast_arrays(*argument)
        if a.dtype.kind not in "fc" and b.dtype.kind not in "fc":
            return result
        eps = max(float(np.finfo(x.dtype).eps) for x in (a, b) if x.dtype.kind in "fc")
        size = 8 * UNITS * eps * np.maximum(np.abs(a), np.abs(b))
        if all(np.shape(x) == np.shape(y) for x, y in zip(argument, plain, strict=True)):
            size = np.maximum(size, 8 * sum(np.abs(_wide(x) - _wide(y)) for x, y in zip(argument, plain, strict=True)))
        near = (a != b) & (np.abs(_wide(a) - _wide(b)) <= size)
        return np.where(near, self._rng.random(a.shape) < 0.5, result)

    def _truth(self, argument: Any, plain: Any, result: Any) -> Any:
        """Return truth values with random ones where a number is as near to zero as it was moved."""
        zero = np.zeros_like(argument)
        return self._undecided([argument, zero], [plain, zero], result)

    def _moved(self, value: Any, vanishing: Any = None) -> Any:
        """Return a copy with numbers moved by some units in the last place, and zeros of either sign."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
            return value
        rng, info = self._rng, np.finfo(value.dtype)
        width = UNITS * float(info.eps)
        if value.dtype.kind == "c":
            noise = rng.uniform(-1, 1, value.shape) + 1j * rng.uniform(-1, 1, value.shape)
            moved = np.asarray(value + np.abs(value) * width * noise)
            return np.where(np.isfinite(value), moved, value).astype(value.dtype)
        # The smallest numbers are far apart; zeros stay zeros, but their signs depend on the order of operations.
        noise = rng.uniform(-1, 1, value.shape)
        size = np.abs(value).astype(np.float64) * width
        # Results are moved further than operands, so that a small number is not moved back to zero.
        least = (1 if vanishing is None else 2) * _SMALLEST[value.dtype.name]
        size = np.where(np.abs(value) < info.tiny, least, size)
        moved = np.asarray(value.astype(np.float64) + size * np.where(size < info.tiny, np.sign(noise), noise))
        if vanishing is None:
            zero = value == 0
        else:
            zero = (value == 0) & ~vanishing
        signs = np.where(rng.random(value.shape) < 0.5, 0.0, -0.0)
        moved = np.where(zero, signs, moved)
        return np.where(np.isfinite(value), moved, value).astype(value.dtype)

    def _made_finite(self, value: Any, plain: Any) -> Any:
        """Return a result with random numbers where it is not finite, or was not before earlier results were moved."""
        strange = ~np.isfinite(value)
        if plain.shape == value.shape:
            strange |= ~np.isfinite(plain)
        if not strange.any():
            return value
        drawn = self._rng.normal(size=value.shape) * 10.0 ** self._rng.integers(-2, 4)
        if self._side is not None:
            drawn = np.abs(drawn) * self._side
        return np.where(strange, drawn, value).astype(value.dtype)


_SMALLEST = {name: float(np.finfo(name).smallest_subnormal) for name in ("float16", "float32", "float64")}


def _spread(argument: Sequence[Any], result: Any) -> Any:
    """Return a product with NaN wherever a factor is not finite: BLAS may leave out products with 0, or not."""
    x, y = argument
    touched = np.zeros(result.shape, bool)
    if x.ndim:
        rows = ~np.isfinite(x).all(-1)
        touched |= rows.reshape(rows.shape + (1,) * (result.ndim - rows.ndim))
    if y.ndim:
        touched |= ~np.isfinite(y).all(-2 if y.ndim > 1 else -1)
    return np.where(touched, np.nan, result).astype(result.dtype)


def _wide(x: Any) -> Any:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _adds(op: Any) -> bool:
    return isinstance(op, (Sum, Dot)) or (isinstance(op, Elemwise) and op.scalar_op in (scalar.add, scalar.sub))


def _sum_of_sizes(node: Any, argument: Sequence[Any]) -> Any:
    """Return the sum without signs: the scale of roundings of the sum itself."""
    sizes = [np.abs(_wide(np.asarray(x))) for x in argument]
    if isinstance(node.op, Elemwise):
        return sum(sizes)
    if isinstance(node.op, Sum):
        return sizes[0].sum(axis=tuple(node.op.axes(sizes[0].ndim)))
    return np.dot(*sizes)


def _is_exact(node: Any) -> bool:
    op = node.op
    if isinstance(op, Elemwise):
        is_modulus = op.scalar_op in (scalar.abs, scalar.sgn) and node.inputs[0].type.dtype[:1] == "c"
        return op.scalar_op in _EXACT_SCALARS and not is_modulus
    return isinstance(op, _EXACT_OPS)


def _is_equality(op: Any) -> bool:
    return isinstance(op, Elemwise) and op.scalar_op in (scalar.eq, scalar.neq)


def _is_switch(op: Any) -> bool:
    return isinstance(op, Elemwise) and op.scalar_op == scalar.switch


def _is_cast(op: Any) -> bool:
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, scalar.Cast)


def _may_vanish(argument: Sequence[Any], result: Any) -> Any:
    """Return where a result of zero is one that was too small, since no operand is zero."""
    filled: Any = np.ones(result.shape, bool)
    for x in argument:
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
            continue
        try:
            filled = filled & np.broadcast_to(x != 0, result.shape)
        except ValueError:
            filled = filled & bool(np.all(x != 0))
    return filled


def _kept(node: Any, values: list[Any]) -> list[Any]:
    """Return the operands, copied for an op that overwrites some."""
    return [np.array(value) for value in values] if node.op.destroy_map else values
