"""Test cases of ops: base classes for shapes and Jacobians, and cases from tables of values."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theano_graph import Op, Variable
from theano_linker_c import function, get_mode
from theano_tensor import TensorType
from theano_tensor.gradient import DisconnectedInputError, Lop, NullTypeGradError, Rop, jacobian

from ._seeds import fetch_seed
from ._tolerance import assert_allclose
from ._verify_grad import verify_grad

# ---- Base classes for tests written by hand


class InferShapeTester(unittest.TestCase):
    """A test case that can tell whether an op's shape is known without running it."""

    def setUp(self) -> None:
        """Seed NumPy's global generator."""
        np.random.seed(fetch_seed())  # noqa: NPY002  # tests that are written with numpy.random need this very generator

    def _compile_and_check(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        numeric_inputs: Sequence[Any],
        cls: type[Op] | tuple[type[Op], ...],
        excluding: Sequence[str] | None = None,
        warn: bool = True,
        check_topo: bool = True,
    ) -> None:
        """Check the shapes of expressions of which only the shapes are computed.

        Parameters
        ----------
        inputs, outputs : sequence of Variable
            As for `function`.
        numeric_inputs : sequence of arrays
            With lengths that all differ, so that a mixed-up shape is seen.
        cls : type, or tuple of types
            Ops of these must not be left in the compiled function.
        excluding : sequence of str, optional
            Tags of rewrites to leave out.
        warn : bool
            Whether equal lengths within one input give a warning.
        check_topo : bool
            Whether `cls` is looked for at all.

        Raises
        ------
        AssertionError
            If a shape is wrong, or an op of `cls` is left.
        """
        for x, value in zip(inputs, numeric_inputs, strict=True):
            shape = np.shape(value)
            if warn and len(set(shape)) < len(shape):
                text = f"`{x}` gets an array of shape {shape}: a shape rule that mixes up equal lengths is not noticed"
                warnings.warn(f"{text}\n  Hint: pass lengths that differ, or warn=False", stacklevel=2)
        mode = get_mode(None)
        if excluding:
            mode = mode.excluding(*excluding)
        values: Any = function(inputs, outputs, mode=mode, on_unused_input="ignore")
        lengths: Any = function(inputs, [y.shape for y in outputs], mode=mode, on_unused_input="ignore")
        left = [node for node in lengths.maker.fgraph.toposort() if isinstance(node.op, cls)]
        if check_topo and left:
            raise AssertionError(f"{left[0].op} runs although only its shape is needed\n  Hint: give it `infer_shape`")
        requested = [np.shape(value) for value in values(*numeric_inputs)]
        matches = [tuple(int(n) for n in shape) for shape in lengths(*numeric_inputs)]
        self.assertEqual(matches, requested)


class RopLopChecker(unittest.TestCase):
    """A test case that compares products with Jacobians with the Jacobian itself.

    Attributes
    ----------
    x, mx : Tensor
        A vector and a matrix of floatX, to build expressions of.
    in_shape, mat_in_shape : tuple of int
        The shapes of the values that they get.
    rng : RandomState
    """

    def setUp(self) -> None:
        """Make the variables."""
        self.rng = np.random.RandomState(fetch_seed())
        self.x, self.v = TensorType("floatX", (None,))("x"), TensorType("floatX", (None,))("v")
        self.mx, self.mv = TensorType("floatX", (None, None))("mx"), TensorType("floatX", (None, None))("mv")
        self.in_shape: tuple[int, ...] = (5 + int(self.rng.randint(3)),)
        self.mat_in_shape: tuple[int, ...] = tuple(5 + int(n) for n in self.rng.randint(3, size=2))

    def check_nondiff_rop(self, y: Any) -> None:
        """Check that the R-op of `y`, an expression of `x` through an op without one, is refused."""
        with self.assertRaises((NullTypeGradError, DisconnectedInputError)):
            Rop(y, self.x, self.v)

    def check_rop_lop(self, y: Any, out_shape: Sequence[int]) -> None:
        """Check both products of a vector `y`, an expression of `x`.

        Parameters
        ----------
        y : vector variable
        out_shape : sequence of int
            Its shape.

        Raises
        ------
        AssertionError
            If a product differs from that with the Jacobian.
        """
        self._check(y, out_shape, self.x, self.v, self.in_shape)

    def check_mat_rop_lop(self, y: Any, out_shape: Sequence[int]) -> None:
        """Check both products of a vector `y`, an expression of the matrix `mx`; see :meth:`check_rop_lop`."""
        self._check(y, out_shape, self.mx, self.mv, self.mat_in_shape)

    def _check(self, y: Any, out_shape: Sequence[int], x: Any, v: Any, in_shape: tuple[int, ...]) -> None:
        u = TensorType(y.type.dtype, (None,))("u")
        value, along = (np.asarray(self.rng.uniform(size=in_shape), dtype=x.type.dtype) for _ in range(2))
        weights = np.asarray(self.rng.uniform(size=tuple(out_shape)), dtype=y.type.dtype)
        expressions = [
            Rop(y, x, v),
            Lop(y, x, u, disconnected_inputs="ignore"),
            jacobian(y, x, disconnected_inputs="ignore"),
        ]
        run: Any = function([x, v, u], expressions, on_unused_input="ignore")
        right, left, rows = run(value, along, weights)
        assert_allclose(right, np.tensordot(rows, along, along.ndim), err_msg="the R-op is not the Jacobian times v")
        assert_allclose(left, np.tensordot(weights, rows, 1), err_msg="the L-op is not u times the Jacobian")


class MockRandomState:
    """A generator that always draws the least or the greatest number, to see whether bounds are right.

    Parameters
    ----------
    val : float
        The result of :meth:`rand`; 0 makes the others draw the least number, anything else the greatest.

    Examples
    --------
    >>> MockRandomState(0).randint(3, 7), MockRandomState(1).randint(3, 7)
    (array([3]), array([6]))
    """

    def __init__(self, val: float) -> None:
        self.val = val

    def rand(self, *shape: int) -> Any:
        """Return an array that is full of the number."""
        return np.full(shape, self.val, dtype="float64")

    def randint(self, minval: int, maxval: int | None = None, size: Any = 1) -> Any:
        """Return the least or greatest int from `minval` (or 0) to below `maxval` (or `minval`)."""
        low, high = (0, minval) if maxval is None else (minval, maxval)
        return np.full(size, low if self.val == 0 else high - 1, dtype="int64")

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = ()) -> Any:
        """Return one of the bounds."""
        return np.full(size, low if self.val == 0 else high, dtype="float64")


# ---- Test cases from tables: good values, values that must fail, points for gradients

Cases = Mapping[str, Sequence[Any]]
Check = Callable[[Sequence[Any], Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class _Table:
    """The parts of one test case."""

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

    def performed(self, argument: list[Any]) -> list[Any]:
        """Return the results of the op's `perform` on the very arrays `argument`."""
        node = _listed(self.op(*self.variables(argument)))[0].owner
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, argument, cells)
        return [cell[0] for cell in cells]

    def check_good(self, values: Sequence[Any]) -> None:
        """Compare values, dtypes and shapes, and ask the checks."""
        expected = [np.asarray(v) for v in _listed(self.expected(*map(_copied, values)))]
        operands = [_copied(v) for v in values]
        results = self.compiled(values)(*operands)
        if len(results) != len(expected):
            raise AssertionError(f"{len(results)} results, but {len(expected)} expected values")
        for i, (result, value) in enumerate(zip(results, expected, strict=True)):
            if result.shape != value.shape:
                raise AssertionError(f"result {i} has shape {result.shape}, expected {value.shape}")
            assert_allclose(value.astype(result.dtype), result, rtol=self.rtol)
        if self.inplace:
            results = self.performed(operands)
        for description, check in self.checks.items():
            answer = check(operands, results)
            if answer is not None and not np.all(answer):
                raise AssertionError(f"the check {description!r} failed for inputs {operands} and results {results}")

    def check_bad_build(self, values: Sequence[Any]) -> None:
        """Expect an exception from the op."""
        try:
            self.op(*self.variables(values))
        except Exception:  # noqa: BLE001  # which one is the op's affair
            return
        raise AssertionError("applying the op should have failed")

    def check_bad_runtime(self, values: Sequence[Any]) -> None:
        """Expect an exception from the call, not from earlier steps."""
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
        Takes arrays; returns the expected results of the op, one array or a list.
    checks : mapping, optional
        Description -> function of (inputs, outputs), both lists of arrays after the call; its result must be true.
    good : mapping, optional
        Name -> arrays for which the op has to give the expected results.
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
        Whether the op works in place: after its `perform`, its first input must then equal its first output.
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
