"""Test cases made of tables: good values, values that must fail when building or running, and points for gradients."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theano_graph import Variable
from theano_linker_c import function
from theano_tensor import TensorType

from .._values._tolerance import assert_allclose
from .._values._verify_grad import verify_grad

Cases = Mapping[str, Sequence[Any]]
Check = Callable[[Sequence[Any], Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class _Table:
    """What one test case is made of."""

    op: Callable[..., Any]
    expected: Callable[..., Any]
    checks: Mapping[str, Check]
    good: Cases
    bad_build: Cases
    bad_runtime: Cases
    grad: Cases
    mode: Any
    rtol: float | None
    grad_rtol: float | None
    grad_eps: float | None
    inplace: bool

    def variables(self, values: Sequence[Any]) -> list[Variable]:
        """Return one variable for each value; lengths of 1 are broadcastable."""
        arrays = [np.asarray(v) for v in values]
        return [TensorType(a.dtype.name, tuple(n == 1 for n in a.shape))() for a in arrays]

    def compiled(self, values: Sequence[Any]) -> Any:
        inputs = self.variables(values)
        return function(inputs, _listed(self.op(*inputs)), mode=self.mode, accept_inplace=True)

    def performed(self, given: list[Any]) -> list[Any]:
        """Return what the op's `perform` makes of the very arrays `given`."""
        node = _listed(self.op(*self.variables(given)))[0].owner
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, given, cells)
        return [cell[0] for cell in cells]

    def check_good(self, values: Sequence[Any]) -> None:
        """Compare values, dtypes and shapes, and ask the checks."""
        expected = [np.asarray(v) for v in _listed(self.expected(*map(_copied, values)))]
        given = [_copied(v) for v in values]
        results = self.compiled(values)(*given)
        if len(results) != len(expected):
            raise AssertionError(f"{len(results)} results, but {len(expected)} expected values")
        for i, (result, value) in enumerate(zip(results, expected, strict=True)):
            if result.shape != value.shape:
                raise AssertionError(f"result {i} has shape {result.shape}, expected {value.shape}")
            assert_allclose(value.astype(result.dtype), result, rtol=self.rtol)
        if self.inplace:
            results = self.performed(given)
        for description, check in self.checks.items():
            answer = check(given, results)
            if answer is not None and not np.all(answer):
                raise AssertionError(f"the check {description!r} failed for inputs {given} and results {results}")

    def check_bad_build(self, values: Sequence[Any]) -> None:
        """Expect an exception from the op."""
        try:
            self.op(*self.variables(values))
        except Exception:  # noqa: BLE001  # which one is the op's affair
            return
        raise AssertionError("applying the op should have failed")

    def check_bad_runtime(self, values: Sequence[Any]) -> None:
        """Expect an exception from the call, not from what comes before it."""
        compiled = self.compiled(values)
        try:
            compiled(*map(_copied, values))
        except Exception:  # noqa: BLE001  # which one is the op's affair
            return
        raise AssertionError("the call should have failed")

    def check_grad(self, values: Sequence[Any]) -> None:
        """Compare the gradient with finite differences."""
        verify_grad(self.op, [np.asarray(v) for v in values], rel_tol=self.grad_rtol, eps=self.grad_eps, mode=self.mode)


def make_tester(
    name: str,
    op: Callable[..., Any],
    expected: Callable[..., Any],
    checks: Mapping[str, Check] | None = None,
    good: Cases | None = None,
    bad_build: Cases | None = None,
    bad_runtime: Cases | None = None,
    grad: Cases | None = None,
    mode: Any = None,
    rtol: float | None = None,
    grad_rtol: float | None = None,
    grad_eps: float | None = None,
    inplace: bool = False,
) -> type[unittest.TestCase]:
    """Return a test case for an op.

    Parameters
    ----------
    name : str
        Name of the class.
    op : callable
        Takes variables; returns one or a list of them.
    expected : callable
        Takes arrays; returns what the op has to compute, one array or a list.
    checks : mapping, optional
        Description -> function of (inputs, outputs), both lists of arrays after the call; what it returns must be true.
    good : mapping, optional
        Name -> arrays for which the op has to compute what is expected.
    bad_build : mapping, optional
        Name -> arrays to whose types the op must not apply.
    bad_runtime : mapping, optional
        Name -> arrays to whose types the op applies, but for which the call must fail.
    grad : mapping, optional
        Name -> points at which the gradient is compared with finite differences.
    mode : Mode or str, optional
    rtol, grad_rtol, grad_eps : float, optional
        Tolerances of values and gradients, step of the differences.
    inplace : bool
        Whether `checks` are asked about arrays that went through the op's `perform` itself.

    Returns
    -------
    type
        A `unittest.TestCase` with ``test_good``, ``test_bad_build``, ``test_bad_runtime`` and ``test_grad``.

    Examples
    --------
    >>> import numpy as np, theano_tensor as T
    >>> ExpTester = make_tester("ExpTester", T.exp, np.exp, good={"vector": (np.arange(3.0),)}, grad={"one": (1.0,)})
    """
    table = _Table(
        op,
        expected,
        checks or {},
        good or {},
        bad_build or {},
        bad_runtime or {},
        grad or {},
        mode,
        rtol,
        grad_rtol,
        grad_eps,
        inplace,
    )

    def method(cases: Cases, check: Callable[[Sequence[Any]], None]) -> Callable[[unittest.TestCase], None]:
        def run(case: unittest.TestCase) -> None:
            for label, values in cases.items():
                with case.subTest(label):
                    check(values if isinstance(values, (tuple, list)) else (values,))

        return run

    members = {
        "__doc__": f"Values, failures and gradients of `{op}`.",
        "op": staticmethod(op),
        "test_good": method(table.good, table.check_good),
        "test_bad_build": method(table.bad_build, table.check_bad_build),
        "test_bad_runtime": method(table.bad_runtime, table.check_bad_runtime),
        "test_grad": method(table.grad, table.check_grad),
    }
    return type(name, (unittest.TestCase,), members)


def make_broadcast_tester(
    op: Callable[..., Any],
    expected: Callable[..., Any],
    checks: Mapping[str, Check] | None = None,
    name: str | None = None,
    inplace: bool = False,
    **kwargs: Any,
) -> type[unittest.TestCase]:
    """Return a test case for an elementwise op.

    Parameters
    ----------
    op, expected, checks
        As for :func:`make_tester`.
    name : str, optional
        By default the name of the op and "Tester".
    inplace : bool
        Whether the op works in place: after its `perform`, its first input must then be what its first output is.
    **kwargs
        `good`, `bad_build`, `bad_runtime`, `grad` and the rest of :func:`make_tester`.

    Examples
    --------
    >>> import numpy as np, theano_tensor as T
    >>> AddTester = make_broadcast_tester(T.add, np.add, good={"row": (np.ones((2, 3)), np.ones((1, 3)))})
    >>> AddTester.__name__
    'Elemwise{add,no_inplace}Tester'
    """
    every = dict(checks or {})
    if inplace:
        every["inplace: the first input holds the first output"] = _first_holds_first
    label = name or f"{getattr(op, '__name__', None) or op}Tester"
    return make_tester(label, op, expected, every, inplace=inplace, **kwargs)


def _first_holds_first(inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
    return bool(np.array_equal(inputs[0], outputs[0]))


def _copied(value: Any) -> Any:
    return np.array(value)


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (tuple, list)) else [values]
