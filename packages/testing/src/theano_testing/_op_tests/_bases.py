"""Base classes for tests of ops that are written by hand: shapes, and products with Jacobians."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Op
from theano_linker_c import function, get_mode
from theano_tensor import TensorType
from theano_tensor.gradient import DisconnectedInputError, Lop, NullTypeGradError, Rop, jacobian

from .._values._seeds import fetch_seed
from .._values._tolerance import assert_allclose


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
        wanted = [np.shape(value) for value in values(*numeric_inputs)]
        found = [tuple(int(n) for n in shape) for shape in lengths(*numeric_inputs)]
        self.assertEqual(found, wanted)


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
        What :meth:`rand` draws; 0 makes the others draw the least number, anything else the greatest.

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
