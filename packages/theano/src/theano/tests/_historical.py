"""Helpers of tests: decorators and mixins, records of runs, and objects that disturb the memory."""

from __future__ import annotations

import copy
import functools
import re
import unittest
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import numpy as np

from theano_graph import Apply, config
from theano_linker_c import Mode
from theano_linker_c.linkers import VM_Linker, WrapLinker
from theano_testing.linker_c import FunctionContents
from theano_testing.tensor import fetch_seed, seed_rng, verify_grad as _verify_grad

from ..printing import hex_digest, min_informative_str
from ..tensor._historical import _allclose, _get_atol_rtol

# ---- Helpers of the tests of Theano 1.0 that programs import, beside those of `theano_testing`

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


# ---- Records of the results of functions, to see whether another run gives the very same

_MOST = 100


class MismatchError(Exception):
    """A run differs from its record."""


class Record:
    """A sequence of lines that is written once, and compared with later.

    Parameters
    ----------
    file_object : text file, optional
    file_path : path, optional
        Opened where no file is given.
    replay : bool
        Whether lines are compared with those in the file instead of being written.

    Examples
    --------
    >>> import io
    >>> from theano.tests._historical import Record
    >>> file = io.StringIO()
    >>> Record(file_object=file).handle_line("one\\n")
    >>> Record(file_object=io.StringIO(file.getvalue()), replay=True).handle_line("one\\n")
    """

    def __init__(self, file_object: Any = None, file_path: Any = None, replay: bool = False) -> None:
        if file_object is None and file_path is None:
            raise ValueError("Record: give a file, or the path of one")
        self.replay = replay
        self.file_path = file_path
        self.f = file_object if file_object is not None else open(file_path, "r" if replay else "w", encoding="utf-8")  # noqa: SIM115

    def handle_line(self, line: str) -> None:
        """Write a line, or compare it with the next one.

        Raises
        ------
        MismatchError
            If it is another one.
        """
        if not self.replay:
            self.f.write(line)
            return
        recorded = self.f.readline()
        if recorded != line:
            raise MismatchError(
                f"Replay detected mismatch.\n  now:      {_shortened(line)}\n  recorded: {_shortened(recorded)}"
            )


def _shortened(line: str) -> str:
    return f"{line[:_MOST]}..." if len(line) > _MOST else line.rstrip("\n")


class RecordMode(Mode):
    """Records every node that functions run, with digests of its operands and results.

    Parameters
    ----------
    record : Record, optional
        By default one that is made of the other arguments.
    **kwargs
        For :class:`Record`.
    """

    def __init__(self, record: Record | None = None, **kwargs: Any) -> None:
        self.set_record(Record(**kwargs) if record is None else record)
        super().__init__(WrapLinker([VM_Linker()], self._run), optimizer="fast_run")

    def set_record(self, record: Record) -> None:
        """Use another record from now on."""
        self.record = record
        self.known_fgraphs: set[str] = set()

    def _run(self, i: int, node: Apply, fn: Any) -> None:
        graph: Any = node.fgraph
        name = str(graph.name)
        if name not in self.known_fgraphs:
            self.known_fgraphs.add(name)
            self._line(f"Function {name} has {len(graph.apply_nodes)} apply nodes.", node)
        self._line(f"Function name: {name}", node)
        self._line(f"Node {i}:{node}", node)
        self._line(f"Inputs: {_digests(fn.inputs)}", node)
        fn()
        self._line(f"Outputs: {_digests(fn.outputs)}", node)

    def _line(self, line: str, node: Apply) -> None:
        try:
            self.record.handle_line(line + "\n")
        except MismatchError as error:
            operands = "\n".join(min_informative_str(v) for v in node.inputs)
            raise MismatchError(f"Non-determinism detected at {node}: {error}\n  operands:\n{operands}") from error


def _digests(cells: list[list[Any]]) -> str:
    return " ".join(hex_digest(cell[0]) for cell in cells)


# ---- Objects whose number depends on the time, so that addresses of later objects differ from run to run

_kept: list[list[int]] = []


def disturb_mem() -> None:
    """Make between none and a million objects, and keep them until the next call."""
    microseconds = datetime.now().microsecond
    length, count = divmod(microseconds, 1000)
    _kept[:] = [[0] * length for _ in range(count)]
