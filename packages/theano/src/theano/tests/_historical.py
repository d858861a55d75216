"""Helpers of the tests of Theano 1.0 that programs import, beside those of `theano_testing`."""

from __future__ import annotations

import copy
import functools
import re
import unittest
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from theano_graph import config
from theano_testing.linker_c import FunctionContents
from theano_testing.tensor import fetch_seed, seed_rng, verify_grad as _verify_grad

from ..tensor._historical import _allclose, _get_atol_rtol

TestT = TypeVar("TestT", bound=Callable[..., Any])
ResultT = TypeVar("ResultT")


def attr(*args: str, **kwargs: Any) -> Callable[[TestT], TestT]:
    """Return a decorator that marks a test, so that runners can choose: each name becomes a true attribute of it.

    Parameters
    ----------
    *args : str
        Names of attributes.
    **kwargs
        Attributes with their values.

    Examples
    --------
    >>> @attr("slow")
    ... def test_much():
    ...     pass
    >>> test_much.slow
    True
    """

    def mark(test: TestT) -> TestT:
        for name, value in {**dict.fromkeys(args, True), **kwargs}.items():
            setattr(test, name, value)
        return test

    return mark


def verify_grad(op: Any, pt: Any, n_tests: int = 2, rng: Any = None, *args: Any, **kwargs: Any) -> None:
    """Check the gradient of an expression by finite differences; see `theano_testing.tensor.verify_grad`.

    Parameters
    ----------
    op : callable
        Takes variables, returns one.
    pt : sequence of array_like
    n_tests : int
    rng : RandomState, optional
    *args, **kwargs
        As `theano.gradient.verify_grad` takes them.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.tests.unittest_tools import verify_grad
    >>> import theano.tensor as T
    >>> verify_grad(op=T.tanh, pt=[np.asarray([2.0, 3.0])])
    """
    _verify_grad(op, pt, n_tests, rng, *args, **kwargs)


verify_grad.E_grad = _verify_grad.E_grad  # type: ignore[attr-defined]


def custom_name_func(testcase_func: Any, param_num: Any, param: Any) -> str:
    """Return the name of one test of ``parameterized.expand``: the function's name and the values of its arguments.

    Parameters
    ----------
    testcase_func : callable
    param_num : int
        The position of the test, which the name leaves out.
    param : parameterized.param
    """
    values = "_".join(str(value) for value in param.args)
    return f"{testcase_func.__name__}_{re.sub('[^a-zA-Z0-9_]+', '_', values)}"


def str_diagnostic(expected: Any, value: Any, rtol: float | None, atol: float | None) -> str:
    """Describe how two arrays differ: their shapes, ranges, and the sizes of the absolute and relative differences.

    Parameters
    ----------
    expected, value : array_like
    rtol, atol : float or None
        None stands for the tolerance of the dtypes.
    """
    expected, value = np.asarray(expected), np.asarray(value)
    lines = ["           : shape, dtype, strides, min, max, n_inf, n_nan:"]
    for label, array in (("Expected", expected), ("Value   ", value)):
        spread = f"{array.min()} {array.max()}" if array.size else "- -"
        bad = f"{np.isinf(array).sum()} {np.isnan(array).sum()}"
        lines.append(f"  {label} : {array.shape} {array.dtype} {array.strides} {spread} {bad} ")
    lines += [f"  expected    : {expected}", f"  value    : {value}"]
    lines += _differences(expected, value)
    own_atol, own_rtol = _get_atol_rtol(expected, value)
    used = (own_rtol if rtol is None else rtol, own_atol if atol is None else atol)
    lines += ["", f"  rtol, atol: {used[0]} {used[1]}", ""]
    return "\n".join(lines)


def _differences(expected: Any, value: Any) -> list[str]:
    try:
        absolute = np.absolute(value - expected)
    except ValueError:
        return ["  The shapes cannot be broadcast against each other."]
    if not absolute.size:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.nan_to_num(absolute / np.maximum(np.absolute(expected), np.absolute(value)))
    statistics = (("Max", np.max), ("Mean", np.mean), ("Median", np.median), ("Std", np.std))
    return [
        f"  {name} {kind} Diff:  {compute(array)}"
        for kind, array in (("Abs", absolute), ("Rel", relative))
        for name, compute in statistics
    ]


class WrongValue(AssertionError):
    """Two arrays that differ by more than the tolerances allow.

    Parameters
    ----------
    expected_val, val : array_like
    rtol, atol : float or None
    """

    def __init__(self, expected_val: Any, val: Any, rtol: float | None, atol: float | None) -> None:
        super().__init__(expected_val, val, rtol, atol)
        self.val1, self.val2, self.rtol, self.atol = expected_val, val, rtol, atol

    def __str__(self) -> str:
        return "WrongValue\n" + str_diagnostic(self.val1, self.val2, self.rtol, self.atol)


def assert_allclose(expected: Any, value: Any, rtol: float | None = None, atol: float | None = None) -> None:
    """Check that a value is the expected one, within tolerances that depend on the dtypes.

    Parameters
    ----------
    expected, value : array_like
    rtol, atol : float, optional

    Raises
    ------
    WrongValue
        Which is an AssertionError, with a description of how they differ.

    Examples
    --------
    >>> from theano.tests.unittest_tools import assert_allclose
    >>> assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-12])
    """
    if not _allclose(expected, value, rtol, atol):
        raise WrongValue(expected, value, rtol, atol)


def assertFailure_fast(f: TestT) -> TestT:
    """Return a test as it is: each value of the flag ``cycle_detection`` finds the same cycles here."""
    return f


class AttemptManyTimes:
    """A decorator for tests of random behaviour: some of several attempts, each with another seed, have to succeed.

    Parameters
    ----------
    n_attempts : int
        How many attempts are made at most.
    n_req_successes : int
        How many of them have to succeed.
    """

    def __init__(self, n_attempts: int, n_req_successes: int = 1) -> None:
        if n_attempts < n_req_successes:
            raise ValueError(f"{n_req_successes} of {n_attempts} attempts cannot succeed")
        self.n_attempts = n_attempts
        self.n_req_successes = n_req_successes

    def __call__(self, fct: Callable[..., ResultT]) -> Callable[..., ResultT]:
        """Return the test that makes the attempts; the last failure is raised where too few succeed."""

        @functools.wraps(fct)
        def attempt(*args: Any, **kwargs: Any) -> ResultT:
            start = fetch_seed()
            successes = 0
            for attempted in range(1, self.n_attempts + 1):
                seed = start if attempted == 1 else str(np.random.default_rng(start + attempted).integers(999999))
                try:
                    with config.change_flags(unittests__rseed=str(seed)):
                        seed_rng()
                        result = fct(*args, **kwargs)
                except Exception:
                    if successes + self.n_attempts - attempted < self.n_req_successes:
                        raise
                    continue
                successes += 1
                if successes == self.n_req_successes:
                    return result
            raise AssertionError(
                f"{successes} of {self.n_attempts} attempts succeeded, {self.n_req_successes} are needed"
            )

        return attempt


class TestOptimizationMixin(FunctionContents):
    """A base class for test cases: counts the nodes of compiled functions, and can give up a test."""

    def SkipTest(self, msg: str = "Skip this test") -> None:
        """Give up the test that runs."""
        raise unittest.SkipTest(msg)


class T_OpContractMixin:
    """A base class for test cases: checks equality, hash and name of the ops in ``self.ops``.

    A subclass sets ``ops`` in `setUp`, and defines `other_op` and, where a copy does not do, `clone`.
    """

    ops: Any

    def other_op(self) -> Any:
        """Return an op that differs from all of them."""
        return object()

    def copy(self, x: Any) -> Any:
        """Return a shallow copy."""
        return copy.copy(x)

    def deepcopy(self, x: Any) -> Any:
        """Return a deep copy."""
        return copy.deepcopy(x)

    def clone(self, op: Any) -> Any:
        """Return an equal op that was made anew; the subclass knows how."""
        raise TypeError(f"{type(self).__name__} has to define clone(op), which makes an op equal to {op}")

    def test_eq(self) -> None:
        """Check that each op equals its copies, and neither another of them nor the other op."""
        for i, op in enumerate(self.ops):
            for same in (op, self.copy(op), self.deepcopy(op), self.clone(op)):
                assert op == same, f"{op} differs from its copy"
            for j, other in enumerate(self.ops):
                assert i == j or op != other, f"{op} equals {other}"
            assert op != self.other_op(), f"{op} equals {self.other_op()}"

    def test_hash(self) -> None:
        """Check that each op has the hash of its copies, and not that of another."""
        for i, op in enumerate(self.ops):
            op_hash = hash(op)
            for same in (self.copy(op), self.deepcopy(op), self.clone(op)):
                assert op_hash == hash(same), f"the hash of {op} differs from that of its copy"
            for j, other in enumerate(self.ops):
                assert i == j or op_hash != hash(other), f"{op} and {other} have one hash"

    def test_name(self) -> None:
        """Check that the text of an op is that of its copies."""
        for op in self.ops:
            text = str(op)
            assert text, "the text of an op is empty"
            for same in (self.copy(op), self.deepcopy(op), self.clone(op)):
                assert text == str(same), f"{text} and {same} are texts of equal ops"
