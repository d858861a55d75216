"""Test records of ops on tensors, and the test classes that are made of them."""

from __future__ import annotations

import pickle
import unittest
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theano_graph import shape_rule
from theano_linker_c import Mode, function
from theano_tensor import TensorType, as_tensor_variable

from ._seeds import fetch_seed
from ._tolerance import assert_allclose
from ._verify_grad import verify_grad

Arrays = Sequence[Any]


@dataclass(frozen=True, slots=True)
class OpRecord:
    """What there is to test about an op.

    Parameters
    ----------
    name : str
        Name of the test class.
    op : callable
        Takes tensor variables, returns one variable or a list of them.
    reference : callable
        Takes arrays, returns an array or a sequence of them: the truth, computed by something else.
    cases : sequence of sequences of arrays
        Arguments. A length of 1 is declared broadcastable.
    gradient : sequence of sequences of arrays
        Where the gradient is checked by finite differences; empty for no check.
    ulp : float, optional
        Allowed error, in units in the last place of the result; otherwise the tolerances of the dtype.
    same_dtype : bool
        Whether the dtypes of the results are those of the reference.
    strided : bool
        Whether the op is also to be run on arrays that are not contiguous.
    """

    name: str
    op: Callable[..., Any]
    reference: Callable[..., Any]
    cases: Sequence[Arrays]
    gradient: Sequence[Arrays] = ()
    ulp: float | None = None
    same_dtype: bool = True
    strided: bool = True


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _variables(arrays: Arrays) -> list[Any]:
    types = [TensorType(np.asarray(a).dtype.name, [1 if n == 1 else None for n in np.shape(a)]) for a in arrays]
    return [t(f"x{i}") for i, t in enumerate(types)]


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

    def _compare(self, found: list[list[Any]], wanted: list[list[Any]]) -> None:
        for i, (got, want) in enumerate(zip(found, wanted, strict=True)):
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
        found = compiled(*(a for case in self.record.cases for a in case))
        self.assertEqual([tuple(int(n) for n in s) for s in found], [value.shape for _, value in computed])
        for y, _ in computed:
            node = y.owner
            self.assertIsNotNone(shape_rule.get(node.op) or getattr(node.op, "infer_shape", None), str(node.op))

    def test_ops_compare_hash_and_pickle(self) -> None:
        for ys in self._outputs:
            for y in ys:
                if y.owner is None:
                    continue
                copy = pickle.loads(pickle.dumps(y.owner.op))
                self.assertEqual(copy, y.owner.op)
                self.assertEqual(hash(copy), hash(y.owner.op))


class StridedTests(OpTestCase):
    """Part of the tests of ops that take arrays of any strides."""

    def test_arrays_with_any_strides(self) -> None:
        cases = [[_non_contiguous(a) for a in case] for case in self.record.cases]
        for linker in ("cvm", "py"):
            self._compare(self._run(linker, cases), self._wanted)


class GradientTests(OpTestCase):
    """Part of the tests of ops that have points for the gradient."""

    def test_gradient(self) -> None:
        rng = np.random.RandomState(fetch_seed())
        for point in self.record.gradient:
            with self.subTest(shapes=[np.shape(p) for p in point]):
                verify_grad(self.record.op, point, n_tests=1, rng=rng, mode=Mode("py", "fast_run"))


def op_tests(record: OpRecord) -> type[OpTestCase]:
    """Return a test class for a record.

    Parameters
    ----------
    record : OpRecord

    Returns
    -------
    class
        A ``unittest.TestCase`` named ``Test<name>``; assign it to a module-level name so that it is found.
    """
    name = "Test" + "".join(part[:1].upper() + part[1:] for part in record.name.split("_"))
    parts: list[type[OpTestCase]] = [StridedTests] if record.strided else []
    if record.gradient:
        parts.append(GradientTests)
    bases = tuple(parts) or (OpTestCase,)
    return type(name, bases, {"record": record, "__doc__": f"Tests made of the record of {record.name}."})
