"""Test records of ops on tensors, and the test classes made from them, with those of batches."""

from __future__ import annotations

import importlib
import os
import pickle
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from theano_graph import Op, RuleTable, shape_rule
from theano_linker_c import Mode, function
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.batching import vectorize_graph
from theano_tensor.gradient import Lop, Rop, grad

from ._seeds import fetch_seed
from ._tolerance import assert_allclose
from ._verify_grad import verify_grad
from .device import DEVICE_VARIABLE, placed_on
from .tiers import is_quick

# ---- Records

Arrays = Sequence[Any]
Shapes = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class OpRecord:
    """The test data of an op.

    Parameters
    ----------
    name : str
        Name of the test class.
    op : callable
        Takes tensor variables, returns one variable or a list of them.
    reference : callable
        Takes arrays, returns an array or a sequence of them: the truth, computed by something else.
    cases : sequence of sequences of arrays
        Arguments. A length of 1 is declared broadcastable. More are drawn where `domain` is given.
    gradient : sequence of sequences of arrays
        Where gradient and R-op are checked; empty for no check, unless `domain` is given.
    domain : sequence of (float, float), optional
        For each argument the interval that its numbers are drawn from. Then cases are drawn for each of `dtypes` and
        `shapes`, and points for the gradient inside of the interval where the op is `smooth`.
    dtypes : sequence of str
        Of the arguments of drawn cases.
    shapes : sequence of sequences of shapes
        Shapes of the arguments of drawn cases. By default those of an elementwise op: equal shapes, no elements, no
        dimensions, and lengths that broadcast.
    smooth : bool
        Whether the op has a derivative inside of the domain.
    ulp : float, optional
        Allowed error, in units in the last place of the result; otherwise the tolerances of the dtype.
    same_dtype : bool
        Whether the dtypes of the results are those of the reference.
    strided : bool
        Whether the op is also to be run on arrays that are not contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> import theano_tensor as tt
    >>> record = OpRecord("sine", tt.sin, np.sin, domain=[(-3.0, 3.0)], dtypes=("float32", "float64"))
    >>> op_tests(record).__name__
    'TestSine'
    """

    name: str
    op: Callable[..., Any]
    reference: Callable[..., Any]
    cases: Sequence[Arrays] = ()
    gradient: Sequence[Arrays] = ()
    domain: Sequence[tuple[float, float]] | None = None
    dtypes: Sequence[str] = ("float64",)
    shapes: Sequence[Shapes] | None = None
    smooth: bool = True
    ulp: float | None = None
    same_dtype: bool = True
    strided: bool = True

    def complete(self) -> OpRecord:
        """Return the record with the cases and points that `domain` asks for.

        Raises
        ------
        ValueError
            If there is nothing to run, or shapes do not fit the domain.
        """
        if self.domain is None:
            if not self.cases:
                raise ValueError(f"record {self.name} has no cases\n  Hint: give `cases`, or a `domain` to draw from")
            return self
        rng = np.random.RandomState(fetch_seed())
        every = _default_shapes(len(self.domain)) if self.shapes is None else self.shapes
        for shapes in every:
            if len(shapes) != len(self.domain):
                raise ValueError(
                    f"record {self.name} has {len(self.domain)} arguments, not {len(shapes)}\n"
                    "  Hint: give as many shapes as intervals"
                )
        cases = [
            *self.cases,
            *(_draw(rng, self.domain, dtype, shapes, 0.0) for dtype in self.dtypes for shapes in every),
        ]
        points = list(self.gradient)
        if self.smooth and "float64" in self.dtypes:
            filled = [shapes for shapes in every if all(0 not in shape for shape in shapes)]
            points += [_draw(rng, self.domain, "float64", shapes, 0.1) for shapes in filled]
        return replace(self, cases=cases, gradient=points, domain=None)


def _default_shapes(count: int) -> list[Shapes]:
    equal: list[Shapes] = [[(3, 4)] * count, [(0, 4)] * count, [()] * count]
    broadcasted: list[tuple[int, ...]] = [((3, 1), (1, 4), (4,))[i % 3] for i in range(count)]
    return equal if count == 1 else [*equal, broadcasted]


def _draw(rng: Any, domain: Sequence[tuple[float, float]], dtype: str, shapes: Shapes, margin: float) -> list[Any]:
    """Return random arguments; a part of the width is left out at the borders of each interval."""
    values = []
    for (low, high), shape in zip(domain, shapes, strict=True):
        edge = margin * (high - low)
        drawn = rng.uniform(low + edge, high - edge, shape)
        if dtype == "bool":
            drawn = drawn > (low + high) / 2
        elif "int" in dtype:
            drawn = np.trunc(drawn)
        elif dtype.startswith("complex"):
            drawn = drawn + 1j * rng.uniform(low + edge, high - edge, shape)
        values.append(np.asarray(drawn, dtype=dtype))
    return values


known_records: list[OpRecord] = []
"""The records that tests have been made of, in order; :mod:`theano_testing.gaps` looks for them."""

record_absence: RuleTable[None] = RuleTable("record")
"""Reasons why ops have no record, given with ``record_absence.declare_absent(op_class, reason)``."""


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _real(values: Any) -> list[Any]:
    """Return those of the results of an op that hold real numbers."""
    variables = [as_tensor_variable(y) for y in _listed(values)]
    return [y for y in variables if y.type.dtype.startswith("float")]


def _constant(dtype: str, value: Any) -> Any:
    """Return a constant of a dtype."""
    return as_tensor_variable(np.asarray(value, dtype=dtype))


def _variables(arrays: Arrays) -> list[Any]:
    types = [TensorType(np.asarray(a).dtype.name, [1 if n == 1 else None for n in np.shape(a)]) for a in arrays]
    return [t(f"x{i}") for i, t in enumerate(types)]


def record_outputs(record: OpRecord) -> list[Any]:
    """Return the expressions that a record builds, for all of its cases."""
    outputs = []
    for case in record.complete().cases:
        outputs += [as_tensor_variable(y) for y in _listed(record.op(*_variables(case)))]
    return outputs


def _non_contiguous(array: Any) -> Any:
    """Return an equal array with steps of two elements, backwards in its first dimension."""
    a = np.asarray(array)
    if not a.ndim:
        return a
    wide = np.zeros([2 * n for n in a.shape], dtype=a.dtype)
    view = wide[tuple(slice(None, None, -2 if i == 0 else 2) for i in range(a.ndim))]
    view[...] = a
    return view


class OpTestCase(unittest.TestCase):
    """The tests of one :class:`OpRecord`; :func:`op_tests` makes subclasses with a record.

    All cases are compiled into one function for each machine, so that a record costs one run of the compiler.
    """

    record: OpRecord
    _compiled: dict[str, Any]
    _wanted: list[list[Any]]

    @classmethod
    def setUpClass(cls) -> None:
        cls._inputs = [_variables(case) for case in cls.record.cases]
        cls._outputs = [[as_tensor_variable(y) for y in _listed(cls.record.op(*xs))] for xs in cls._inputs]
        cls._compiled = {}
        with np.errstate(all="ignore"):
            cls._wanted = [
                [np.asarray(y) for y in _listed(cls.record.reference(*map(np.asarray, case)))]
                for case in cls.record.cases
            ]

    _inputs: list[list[Any]]
    _outputs: list[list[Any]]

    def _run(self, linker: str, cases: Sequence[Arrays]) -> list[list[Any]]:
        """Run all cases on a machine; return the results of each case."""
        if linker not in self._compiled:
            inputs = [x for xs in self._inputs for x in xs]
            outputs = [y for ys in self._outputs for y in ys]
            mode = Mode(linker, "fast_run")
            self._compiled[linker] = function(inputs, outputs, mode=mode, on_unused_input="ignore")
        flat = iter(self._compiled[linker](*(a for case in cases for a in case)))
        return [[next(flat) for _ in ys] for ys in self._outputs]

    def _compare(self, match: list[list[Any]], requested: list[list[Any]]) -> None:
        for i, (got, want) in enumerate(zip(match, requested, strict=True)):
            for k, (a, b) in enumerate(zip(got, want, strict=True)):
                dtypes = [np.asarray(c).dtype.name for c in self.record.cases[i]]
                label = f"{self.record.name}, case {i} {dtypes}, output {k}"
                if self.record.same_dtype:
                    self.assertEqual(np.asarray(a).dtype, b.dtype, label)
                assert_allclose(a, b, ulp=self.record.ulp, err_msg=label)

    def test_python_machine_agrees_with_reference(self) -> None:
        self._compare(self._run("py", self.record.cases), self._wanted)

    def test_native_machine_agrees_with_reference(self) -> None:
        self._compare(self._run("cvm", self.record.cases), self._wanted)

    def test_machines_agree(self) -> None:
        native, python = self._run("cvm", self.record.cases), self._run("py", self.record.cases)
        for got, want in zip(native, python, strict=True):
            for a, b in zip(got, want, strict=True):
                self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)
                assert_allclose(a, b, ulp=self.record.ulp, err_msg=self.record.name)

    def test_results_have_the_declared_types(self) -> None:
        for ys, got in zip(self._outputs, self._run("cvm", self.record.cases), strict=True):
            for y, value in zip(ys, got, strict=True):
                self.assertEqual(np.asarray(value).dtype.name, y.type.dtype)
                self.assertEqual(np.ndim(value), y.type.ndim)
                for known, length in zip(y.type.shape, np.shape(value), strict=True):
                    self.assertIn(known, (None, length))

    def test_inputs_are_left_alone(self) -> None:
        cases = [[np.array(a) for a in case] for case in self.record.cases]
        self._run("cvm", cases)
        for before, after in zip(self.record.cases, cases, strict=True):
            for a, b in zip(before, after, strict=True):
                np.testing.assert_array_equal(a, b)

    def test_shape_rule_gives_the_shapes(self) -> None:
        flat = [y for ys in self._outputs for y in ys]
        values = [value for want in self._wanted for value in want]
        computed = [(y, value) for y, value in zip(flat, values, strict=True) if y.owner is not None]
        inputs = [x for xs in self._inputs for x in xs]
        lengths = [y.shape for y, _ in computed]
        compiled: Any = function(inputs, lengths, mode=Mode("py", "fast_run"), on_unused_input="ignore")
        match = compiled(*(a for case in self.record.cases for a in case))
        self.assertEqual([tuple(int(n) for n in s) for s in match], [value.shape for _, value in computed])
        for y, _ in computed:
            node = y.owner
            self.assertIsNotNone(shape_rule.get(node.op) or getattr(node.op, "infer_shape", None), str(node.op))

    def test_ops_compare_hash_and_pickle(self) -> None:
        for ys in self._outputs:
            for y in ys:
                if y.owner is None:
                    continue
                copy = pickle.loads(pickle.dumps(y.owner.op))
                kind: Any = type(copy)
                self.assertIs(kind, type(y.owner.op))
                if kind.__eq__ is Op.__eq__ and kind.__props__ is None:
                    continue  # compared by identity
                self.assertEqual(copy, y.owner.op)
                self.assertEqual(hash(copy), hash(y.owner.op))


class StridedTests(OpTestCase):
    """Part of the tests of ops that take arrays of any strides."""

    def test_arrays_with_any_strides(self) -> None:
        cases = [[_non_contiguous(a) for a in case] for case in self.record.cases]
        for linker in ("cvm", "py"):
            self._compare(self._run(linker, cases), self._wanted)


class GradientTests(OpTestCase):
    """Part of the tests of ops that have points for the gradient; the quick tier takes the last, which broadcasts."""

    def _points(self) -> Sequence[Arrays]:
        return self.record.gradient[-1:] if is_quick() else self.record.gradient

    def test_gradient(self) -> None:
        rng = np.random.RandomState(fetch_seed())
        for point in self._points():
            with self.subTest(shapes=[np.shape(p) for p in point]):
                verify_grad(self._continuous, point, n_tests=1, rng=rng, mode=Mode("py", "fast_run"))

    def _continuous(self, *xs: Any) -> Any:
        """Return the op's result as one variable that can be projected: a sum where there are several."""
        outputs = _real(self.record.op(*xs))
        if len(outputs) == 1:
            return outputs[0]
        return sum((y * (k + 1.5)).sum() for k, y in enumerate(outputs))

    def test_right_product_is_the_transpose_of_the_left_one(self) -> None:
        rng = np.random.RandomState(fetch_seed())
        for point in self._points():
            with self.subTest(shapes=[np.shape(p) for p in point]):
                left, right, tolerance = self._products(rng, point)
                assert_allclose(right, left, rtol=tolerance, atol=tolerance)

    def _products(self, rng: Any, point: Arrays) -> tuple[Any, Any, float]:
        """Return ``u J v`` with the gradient rule and with the R-op, and how far they may be apart."""
        xs = _variables(point)
        ys = _real(self.record.op(*xs))
        inputs = list(xs)
        plain: Any = function(inputs, ys, mode=Mode("py", "fast_compile"), on_unused_input="ignore")
        us = [
            _constant(y.type.dtype, rng.uniform(-1, 1, np.shape(value)))
            for y, value in zip(ys, plain(*point), strict=True)
        ]
        vs = [_constant(x.type.dtype, rng.uniform(-1, 1, np.shape(p))) for x, p in zip(xs, point, strict=True)]
        left: Any = 0.0
        for g, v in zip(Lop(ys, xs, us, disconnected_inputs="ignore"), vs, strict=True):
            left = left + (g * v).sum()
        right: Any = 0.0
        for t, u in zip(Rop(ys, xs, vs, disconnected_outputs="ignore"), us, strict=True):
            right = right + (t * u).sum()
        both: Any = function(inputs, [left, right], mode=Mode("py", "fast_compile"), on_unused_input="ignore")
        first, second = both(*point)
        short = any(v.type.dtype in ("float16", "float32") for v in (*xs, *ys))
        return first, second, 1e-4 if short else 1e-8


class DeviceTests(OpTestCase):
    """Part of the tests where the variable `THEANO_TEST_DEVICE` of the environment names a device, as "opencl0:0"."""

    #: Devices have special functions of their own, whose last places differ.
    _least_ulp = 256.0
    #: The device; that of the environment by default.
    device: ClassVar[str | None] = None

    def test_device_agrees_with_reference(self) -> None:
        importlib.import_module("theano_tensor.device")  # without its rewrites all would be computed on the host
        inputs = [x for xs in self._inputs for x in xs]
        outputs = [y for ys in self._outputs for y in ys]
        with placed_on(self.device or os.environ[DEVICE_VARIABLE], inputs):
            compiled: Any = function(inputs, outputs, mode=Mode("cvm", "fast_run"), on_unused_input="ignore")
        cases = [self.record.cases]
        if self.record.strided:
            cases.append([[_non_contiguous(a) for a in case] for case in self.record.cases])
        for operand in cases:
            flat = iter(compiled(*(a for case in operand for a in case)))
            for ys, requested in zip(self._outputs, self._wanted, strict=True):
                for item, want in zip([next(flat) for _ in ys], requested, strict=True):
                    ulp = max(self.record.ulp or 0.0, self._least_ulp)
                    assert_allclose(np.asarray(item), want, ulp=ulp, err_msg=f"{self.record.name} on the device")


def check_on_device(record: OpRecord, device: str) -> None:
    """Compute the cases of a record on a device, as far as there are forms for it, and compare with the reference.

    Parameters
    ----------
    record : OpRecord
    device : str
        As "opencl0:0".

    Raises
    ------
    AssertionError
        If a result is another one.
    """
    result: Any = type("OnDevice", (DeviceTests,), {"record": record.complete(), "device": device})
    result.setUpClass()
    result("test_device_agrees_with_reference").debug()


def op_tests(record: OpRecord) -> type[OpTestCase]:
    """Return a test class for a record.

    Where the variable `THEANO_TEST_DEVICE` of the environment names a device, its cases run there, too, as far as there
    are forms for devices.

    Parameters
    ----------
    record : OpRecord

    Returns
    -------
    class
        A ``unittest.TestCase`` named ``Test<name>``; assign it to a module-level name so that it is found.

    Raises
    ------
    ValueError
        If the record has neither cases nor a domain.
    """
    record = record.complete()
    known_records.append(record)
    name = "Test" + "".join(part[:1].upper() + part[1:] for part in record.name.split("_"))
    parts: list[type[OpTestCase]] = [StridedTests] if record.strided else []
    if record.gradient:
        parts.append(GradientTests)
    if os.environ.get(DEVICE_VARIABLE):
        parts.append(DeviceTests)
    bases = tuple(parts) or (OpTestCase,)
    return type(name, bases, {"record": record, "__doc__": f"Tests made of the record of {record.name}."})


# ---- Records of ops on batches: each subset of the arguments is stacked, and compared with a loop over the entries

#: Subsets of the arguments of a record at most.
SUBSETS = 4


def subsets(count: int) -> Iterator[tuple[int, ...]]:
    """Yield which arguments are stacked: all of them, then one after the other, then the others; not too many."""
    chosen = [tuple(range(count)), *((k,) for k in range(count))]
    chosen += [pair for size in range(2, count) for pair in combinations(range(count), size)]
    yield from list(dict.fromkeys(chosen))[:SUBSETS]


def check_batches(record: OpRecord, entries: int = 2, case: int = 0) -> None:
    """Compare a case of a record on batches with a loop over the entries.

    Parameters
    ----------
    record : OpRecord
    entries : int
        Length of the batch. The entries are the arguments of the case, those of numbers in other orders.
    case : int
        Which of the cases.

    Raises
    ------
    AssertionError
        If a value differs; it names the arguments that were stacked.
    """
    arguments = [np.asarray(a) for a in record.complete().cases[case]]
    for stacked in subsets(len(arguments)):
        _check(record, arguments, stacked, entries)


def _check(record: OpRecord, arguments: Sequence[Any], stacked: Sequence[int], entries: int) -> None:
    variables = [TensorType(str(a.dtype), tuple(n == 1 for n in a.shape)).make_variable() for a in arguments]
    result = record.op(*variables)
    outputs = [as_tensor_variable(v) for v in (result if isinstance(result, (list, tuple)) else [result])]
    batches = {v: _stack_of(v) for k, v in enumerate(variables) if k in stacked}
    mode = Mode("py", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batched = vectorize_graph(outputs, batches)
        run = function([batches.get(v, v) for v in variables], batched, mode=mode, on_unused_input="ignore")
        single = function(variables, outputs, mode=mode, on_unused_input="ignore")
        rows, values = _rows(single, arguments, stacked, entries)
        results = run(*values)
    for k, value in enumerate(results):
        if batched[k].type.ndim == outputs[k].type.ndim:
            expected = rows[0][k]
        else:
            expected = np.stack([row[k] for row in rows])
        message = f"{record.name}: output {k} with arguments {stacked} stacked"
        assert value.shape == expected.shape and value.dtype == expected.dtype, message
        assert_allclose(value, expected)


def check_batch_gradients(record: OpRecord, entries: int = 2) -> None:
    """Compare gradients of a record on batches with a loop over the entries, at the first point of the record.

    Both are checked: gradients of the outputs for a batch, and gradients of one entry applied to a batch.

    Parameters
    ----------
    record : OpRecord
    entries : int
        Length of the batch.

    Raises
    ------
    AssertionError
        If a gradient differs.
    """
    points = record.complete().gradient
    if not len(points):
        return
    arguments = [np.asarray(a) for a in points[0]]
    variables = [TensorType(str(a.dtype), tuple(n == 1 for n in a.shape)).make_variable() for a in arguments]
    result = record.op(*variables)
    outputs = [as_tensor_variable(v) for v in (result if isinstance(result, (list, tuple)) else [result])]
    smooth = [v for v in outputs if v.type.dtype.startswith("float")]
    wrt = [v for v in variables if v.type.dtype.startswith("float")]
    if not smooth or not wrt:
        return
    batches = {v: _stack_of(v) for v in variables}
    wrt_batches = [batches[v] for v in wrt]
    mode = Mode("py", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slopes = grad(_total(smooth), wrt, disconnected_inputs="ignore")
        of_batch = grad(_total(vectorize_graph(smooth, batches)), wrt_batches, disconnected_inputs="ignore")
        applied = vectorize_graph(slopes, batches)
        single = function(variables, slopes, mode=mode, on_unused_input="ignore")
        run = function(list(batches.values()), [*of_batch, *applied], mode=mode, on_unused_input="ignore")
        batch = [[_scaled(a, i) for a in arguments] for i in range(entries)]
        rows = [single(*entry) for entry in batch]
        results = run(*(np.stack(values) for values in zip(*batch, strict=True)))
    for k, expected in enumerate(zip(*rows, strict=True)):
        assert_allclose(results[k], np.stack(expected))
        one_for_all = results[len(wrt) + k].ndim == expected[0].ndim
        assert_allclose(results[len(wrt) + k], expected[0] if one_for_all else np.stack(expected))


def _total(outputs: Sequence[Any]) -> Any:
    return sum((v * v).sum() for v in outputs)


def _stack_of(variable: Any) -> Any:
    return TensorType(variable.type.dtype, (False, *variable.type.broadcastable)).make_variable()


def _rows(single: Any, arguments: Sequence[Any], stacked: Sequence[int], entries: int) -> tuple[list[Any], list[Any]]:
    """Return the results for each entry, and the arguments for all of them.

    Entries are the arguments in other orders; where these have no result, or one of another shape, a little smaller.
    """
    for change in (_reversed, _scaled):
        batch = [[change(a, i) if k in stacked else a for k, a in enumerate(arguments)] for i in range(entries)]
        try:
            rows = [single(*entry) for entry in batch]
        except (ValueError, ArithmeticError, IndexError, AssertionError):
            continue
        if all(a.shape == b.shape for row in rows for a, b in zip(row, rows[0], strict=True)):
            break
    values = [np.stack([e[k] for e in batch]) if k in stacked else a for k, a in enumerate(arguments)]
    return rows, values


def _reversed(argument: Any, i: int) -> Any:
    """Return the elements in reverse order, for every second entry."""
    return argument[(slice(None, None, -1),) * argument.ndim].copy() if i % 2 else argument


def _scaled(argument: Any, i: int) -> Any:
    """Return a little smaller numbers, where they are no integers."""
    return argument if argument.dtype.kind not in "fc" else argument * (1 - argument.dtype.type(i) / 64)
