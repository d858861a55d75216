"""Python's operators, and NumPy's attributes and methods, on tensor variables.

Ops are defined on variables, and what ``x + y`` means is defined by ops. The knot is cut by a table: methods look up
the function that
they stand for by name, and the modules of the ops fill the table when they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from theano_graph import compose, describe

if TYPE_CHECKING:
    from ._type import StaticShape, TensorType
    from ._variable import TensorVariable

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

#: Name -> the function behind the method or operator of that name.
OPERATIONS: dict[str, Callable[..., Any]] = {}

#: NumPy's name of a ufunc -> the name in `OPERATIONS` where they differ.
UFUNC_NAMES: dict[str, str] = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "true_div",
    "floor_divide": "int_div",
    "remainder": "mod",
    "power": "pow",
    "float_power": "pow",
    "negative": "neg",
    "absolute": "abs_",
    "fabs": "abs_",
    "sign": "sgn",
    "square": "sqr",
    "reciprocal": "inv",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "neq",
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "logical_and": "and_",
    "logical_or": "or_",
    "invert": "invert",
    "conjugate": "conj",
    "arcsin": "arcsin",
    "matmul": "matmul",
}


def operation(name: str) -> Callable[[FunctionT], FunctionT]:
    """Register a function as what stands behind the method or operator `name`."""

    def accept(function: FunctionT) -> FunctionT:
        OPERATIONS[name] = function
        return function

    return accept


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call the function registered under `name`."""
    return OPERATIONS[name](*args, **kwargs)


def _unary(name: str) -> Callable[[Any], TensorVariable]:
    def method(self: Any) -> TensorVariable:
        result: TensorVariable = OPERATIONS[name](self)
        return result

    return method


def _binary(name: str) -> Callable[[Any, Any], TensorVariable]:
    def method(self: Any, other: Any) -> TensorVariable:
        result: TensorVariable = OPERATIONS[name](self, other)
        return result

    return method


def _reflected(name: str) -> Callable[[Any, Any], TensorVariable]:
    def method(self: Any, other: Any) -> TensorVariable:
        result: TensorVariable = OPERATIONS[name](other, self)
        return result

    return method


class TensorOperators:
    """What tensor variables, constants and shared variables can do in an expression.

    ``==`` compares identity (variables are keys of dictionaries); use ``T.eq`` for elements.
    """

    __slots__ = ()

    type: TensorType
    #: NumPy arrays leave operators with a variable to the variable.
    __array_priority__ = 1000

    __neg__ = _unary("neg")
    __abs__ = _unary("abs_")
    __invert__ = _unary("invert")
    __ceil__ = _unary("ceil")
    __floor__ = _unary("floor")
    __trunc__ = _unary("trunc")
    __add__ = _binary("add")
    __radd__ = _reflected("add")
    __sub__ = _binary("sub")
    __rsub__ = _reflected("sub")
    __mul__ = _binary("mul")
    __rmul__ = _reflected("mul")
    __truediv__ = _binary("true_div")
    __rtruediv__ = _reflected("true_div")
    __div__ = _binary("int_or_true_div")
    __rdiv__ = _reflected("int_or_true_div")
    __floordiv__ = _binary("int_div")
    __rfloordiv__ = _reflected("int_div")
    __mod__ = _binary("mod_check")
    __rmod__ = _reflected("mod_check")
    __pow__ = _binary("pow")
    __rpow__ = _reflected("pow")
    __lt__ = _binary("lt")
    __le__ = _binary("le")
    __gt__ = _binary("gt")
    __ge__ = _binary("ge")
    __and__ = _binary("and_")
    __rand__ = _reflected("and_")
    __or__ = _binary("or_")
    __ror__ = _reflected("or_")
    __xor__ = _binary("xor")
    __rxor__ = _reflected("xor")
    __matmul__ = _binary("matmul")
    __rmatmul__ = _reflected("matmul")

    def __divmod__(self, other: Any) -> tuple[TensorVariable, TensorVariable]:
        return call("int_div", self, other), call("mod", self, other)

    def __getitem__(self, index: Any) -> TensorVariable:
        result: TensorVariable = call("getitem", self, index)
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            compose(
                f"{type(self).__name__!r} object does not support item assignment: an expression does not change",
                where=[describe(self)],  # type: ignore[arg-type]  # the mix-in is only used with Variable
                mend="make a new one: y = T.set_subtensor(x[index], value), or T.inc_subtensor for +=",
            )
        )

    def take(self, indices: Any, axis: Any = None, mode: str = "raise") -> TensorVariable:
        """See :func:`theano_tensor.take`."""
        result: TensorVariable = call("take", self, indices, axis=axis, mode=mode)
        return result

    def nonzero(self, return_matrix: bool = False) -> Any:
        """See :func:`theano_tensor.nonzero`."""
        return call("nonzero", self, return_matrix=return_matrix)

    def nonzero_values(self) -> TensorVariable:
        """See :func:`theano_tensor.nonzero_values`."""
        result: TensorVariable = call("nonzero_values", self)
        return result

    def choose(self, choices: Any, out: None = None, mode: str = "raise") -> TensorVariable:
        """See :func:`theano_tensor.choose`; `self` holds the numbers."""
        result: TensorVariable = call("choose", self, choices, out=out, mode=mode)
        return result

    def compress(self, a: Any, axis: Any = None) -> TensorVariable:
        """See :func:`theano_tensor.compress`; `self` is the condition."""
        result: TensorVariable = call("compress", self, a, axis=axis)
        return result

    def __iter__(self) -> Iterator[TensorVariable]:
        length = self.type.shape[0] if self.type.ndim else None
        if length is None:
            raise TypeError(
                compose(
                    f"cannot iterate over `{self}`: its length is not known while the expression is built",
                    where=[describe(self)],  # type: ignore[arg-type]  # the mix-in is only used with Variable
                    mend="take items by index (x[0], x[1]), or work on the whole of it with array operations",
                )
            )
        return (self[i] for i in range(length))

    def __len__(self) -> int:
        raise TypeError(
            compose(
                f"object of type {type(self).__name__!r} has no len(): its length is symbolic",
                where=[describe(self)],  # type: ignore[arg-type]  # as above
                mend="use `x.shape[0]`, which is the length as a symbolic integer",
            )
        )

    def __bool__(self) -> bool:
        raise TypeError(
            compose(
                f"`{self}` has no truth value: it has not been computed yet",
                where=[describe(self)],  # type: ignore[arg-type]  # as above
                mend="use T.switch(condition, a, b) in place of `if`, and `&`, `|`, `~` in place of `and`, `or`, `not`",
            )
        )

    def __contains__(self, item: object) -> bool:
        raise TypeError(
            compose(
                f"`in` cannot be asked of the symbolic `{self}`", mend="use T.any(T.eq(x, item)), which is symbolic too"
            )
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = OPERATIONS.get(UFUNC_NAMES.get(ufunc.__name__, ufunc.__name__))
        if method != "__call__" or kwargs or function is None:
            keywords = f" with {', '.join(kwargs)}" if kwargs else ""
            raise TypeError(
                compose(
                    f"numpy.{ufunc.__name__}{'' if method == '__call__' else '.' + method}{keywords} "
                    "has no symbolic form",
                    mend="use the function of theano.tensor, or compute the value first with `x.eval()`",
                )
            )
        return function(*inputs)

    # ---- what the type says

    @property
    def dtype(self) -> str:
        """Name of the element type."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.type.ndim

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each dimension, whether its length is known to be 1."""
        return self.type.broadcastable

    @property
    def static_shape(self) -> StaticShape:
        """Shape as far as known now; None for lengths known at run time."""
        return self.type.shape

    @property
    def shape(self) -> TensorVariable:
        """Shape as a symbolic vector of int64."""
        result: TensorVariable = call("shape", self)
        return result

    @property
    def size(self) -> TensorVariable:
        """Number of elements, symbolic."""
        result: TensorVariable = call("size", self)
        return result

    # ---- shape and order

    @property
    def T(self) -> TensorVariable:
        """The transpose: dimensions in reverse order."""
        result: TensorVariable = call("transpose", self)
        return result

    def transpose(self, *axes: Any) -> TensorVariable:
        """Return the dimensions in the order `axes`, given one by one or as a sequence; reversed without `axes`."""
        order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], Sequence)) else (axes or None)
        result: TensorVariable = call("transpose", self, order)
        return result

    def dimshuffle(self, *pattern: Any) -> TensorVariable:
        """Return a view with dimensions permuted, inserted (``"x"``) or, where broadcastable, dropped.

        Examples
        --------
        ``x.dimshuffle(0, "x")`` makes a column of a vector, ``x.dimshuffle(1, 0)`` transposes a matrix.
        """
        order = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)) else pattern
        result: TensorVariable = call("dimshuffle", self, order)
        return result

    def reshape(self, shape: Any, ndim: int | None = None) -> TensorVariable:
        """Return this tensor with another shape; one length may be -1. `shape` is one sequence or symbolic vector."""
        result: TensorVariable = call("reshape", self, shape, ndim=ndim)
        return result

    def flatten(self, ndim: int = 1) -> TensorVariable:
        """Return this tensor with its last dimensions joined so that `ndim` are left."""
        result: TensorVariable = call("flatten", self, ndim=ndim)
        return result

    def ravel(self) -> TensorVariable:
        """Return this tensor as a vector."""
        return self.flatten()

    def squeeze(self) -> TensorVariable:
        """Return this tensor without its broadcastable dimensions."""
        result: TensorVariable = call("squeeze", self)
        return result

    def swapaxes(self, axis1: int, axis2: int) -> TensorVariable:
        """Return this tensor with two dimensions exchanged."""
        result: TensorVariable = call("swapaxes", self, axis1, axis2)
        return result

    # ---- elements

    def astype(self, dtype: Any) -> TensorVariable:
        """Return the elements converted to `dtype`."""
        result: TensorVariable = call("cast", self, dtype)
        return result

    def copy(self, name: str | None = None) -> TensorVariable:
        """Return a symbolic copy, without tags."""
        result: TensorVariable = call("tensor_copy", self)
        result.name = name
        return result

    def clip(self, a_min: Any, a_max: Any) -> TensorVariable:
        """Return the elements limited to the range from `a_min` to `a_max`."""
        result: TensorVariable = call("clip", self, a_min, a_max)
        return result

    def round(self, mode: str | None = None) -> TensorVariable:
        """Return the elements rounded; `mode` is ``"half_away_from_zero"`` or ``"half_to_even"``."""
        result: TensorVariable = call("round", self, mode)
        return result

    def fill(self, value: Any) -> TensorVariable:
        """Return a tensor of this shape filled with `value`."""
        result: TensorVariable = call("fill", self, value)
        return result

    def zeros_like(self, dtype: Any = None) -> TensorVariable:
        """Return zeros of this shape."""
        result: TensorVariable = call("zeros_like", self, dtype=dtype)
        return result

    def ones_like(self, dtype: Any = None) -> TensorVariable:
        """Return ones of this shape."""
        result: TensorVariable = call("ones_like", self, dtype=dtype)
        return result

    @property
    def real(self) -> TensorVariable:
        """The real part."""
        result: TensorVariable = call("real", self)
        return result

    @property
    def imag(self) -> TensorVariable:
        """The imaginary part."""
        result: TensorVariable = call("imag", self)
        return result

    def conj(self) -> TensorVariable:
        """Return the complex conjugate."""
        result: TensorVariable = call("conj", self)
        return result

    conjugate = conj

    # ---- reductions

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None) -> TensorVariable:
        """See :func:`theano_tensor.sum`."""
        result: TensorVariable = call("sum", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def prod(
        self, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
    ) -> TensorVariable:
        """See :func:`theano_tensor.prod`."""
        result: TensorVariable = call("prod", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def mean(
        self, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
    ) -> TensorVariable:
        """See :func:`theano_tensor.mean`."""
        result: TensorVariable = call("mean", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.var`."""
        result: TensorVariable = call("var", self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)
        return result

    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.std`."""
        result: TensorVariable = call("std", self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)
        return result

    def max(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.max`."""
        result: TensorVariable = call("max", self, axis=axis, keepdims=keepdims)
        return result

    def min(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.min`."""
        result: TensorVariable = call("min", self, axis=axis, keepdims=keepdims)
        return result

    def argmax(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.argmax`."""
        result: TensorVariable = call("argmax", self, axis=axis, keepdims=keepdims)
        return result

    def argmin(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.argmin`."""
        result: TensorVariable = call("argmin", self, axis=axis, keepdims=keepdims)
        return result

    def ptp(self, axis: Any = None) -> TensorVariable:
        """See :func:`theano_tensor.ptp`."""
        result: TensorVariable = call("ptp", self, axis=axis)
        return result

    def any(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.any`."""
        result: TensorVariable = call("any", self, axis=axis, keepdims=keepdims)
        return result

    def all(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.all`."""
        result: TensorVariable = call("all", self, axis=axis, keepdims=keepdims)
        return result

    def norm(self, L: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """Return the L-norm along `axis`: ``sum(abs(x) ** L) ** (1 / L)``."""
        result: TensorVariable = call("norm", self, L, axis=axis, keepdims=keepdims)
        return result

    def dot(self, other: Any) -> TensorVariable:
        """See :func:`theano_tensor.dot`."""
        result: TensorVariable = call("dot", self, other)
        return result
