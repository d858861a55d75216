"""Python's operators on tensor variables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import Constant, describe, format_error, is_library_module
from theano_linker_c import scalar

from ._methods import ElementMethods, OrderMethods, ReductionMethods, TensorAttributes
from ._numbers import Numbers
from ._numpy_advice import asking_function, refusal
from ._numpy_protocols import NumpyProtocols
from ._operations import OPERATIONS, call
from ._tracing import LOOP_OVER_ITEMS, asked_where, decided_by_python, traced

if TYPE_CHECKING:
    from .._core._typing import AxisLike, IndexLike, TensorLike
    from .._core._variable import Tensor


def _in_place_of_if() -> str:
    """Return the symbolic form to write where Python would ask for a truth value."""
    static = decided_by_python()
    if static is None:
        return "use T.switch(condition, a, b) in place of `if`, and `&`, `|`, `~` in place of `and`, `or`, `not`"
    return (
        "use T.switch(condition, a, b) in place of `if`, theano.ifelse.ifelse(condition, a, b) to compute one of "
        "them only, theano.functional.while_loop(condition, body, init) in place of `while` (theano.scan keeps all "
        f"steps), and `&`, `|`, `~` in place of `and`, `or`, `not`; {static}"
    )


def _asked_in_trace(frame: FrameType) -> bool:
    """Tell whether a function that is being traced, and not the library, asks in a frame."""
    return traced() is not None and not is_library_module(frame.f_globals.get("__name__"))


def _unary(name: str) -> Callable[[Any], Tensor]:
    def method(self: Any) -> Tensor:
        result: Tensor = OPERATIONS[name](self)
        return result

    return method


#: Comparisons of size, which have no truth value; `T.eq` is a variable like others, for old programs look for one.
_COMPARISONS = tuple(type(op) for op in (scalar.lt, scalar.le, scalar.gt, scalar.ge))
#: Objects that become tensors, or never do: an error about one of these is final.
_OWN = (Constant, bool, int, float, complex, str, bytes, list, tuple, dict, np.ndarray, np.generic, type(None))


def _binary(name: str, reflected: str) -> Callable[[Any, Any], Tensor]:
    def method(self: Any, other: Any) -> Any:
        if getattr(other, "__array_ufunc__", self) is None:
            # NumPy's way to let the other operand decide: a sparse matrix, for instance.
            return NotImplemented
        try:
            result: Tensor = OPERATIONS[name](self, other)
        except TypeError:
            if isinstance(other, (TensorOperators, *_OWN)) or not hasattr(type(other), reflected):
                raise
            # No tensor can be made of it, and its class defines the operator.
            return NotImplemented
        return result

    return method


def _reflected(name: str) -> Callable[[Any, Any], Tensor]:
    def method(self: Any, other: TensorLike) -> Tensor:
        result: Tensor = OPERATIONS[name](other, self)
        return result

    return method


class TensorOperators(TensorAttributes, OrderMethods, ElementMethods, ReductionMethods, Numbers, NumpyProtocols):
    """Operators of tensor variables, constants and shared variables in an expression.

    ``==`` compares identity (variables are keys of dictionaries); use ``T.eq`` for elements.
    """

    __slots__ = ()

    #: NumPy arrays leave operators with a variable to the variable.
    __array_priority__ = 1000

    __neg__ = _unary("neg")
    __abs__ = _unary("abs_")
    __invert__ = _unary("invert")
    __ceil__ = _unary("ceil")
    __floor__ = _unary("floor")
    __trunc__ = _unary("trunc")
    __add__ = _binary("add", "__radd__")
    __radd__ = _reflected("add")
    __sub__ = _binary("sub", "__rsub__")
    __rsub__ = _reflected("sub")
    __mul__ = _binary("mul", "__rmul__")
    __rmul__ = _reflected("mul")
    __truediv__ = _binary("true_div", "__rtruediv__")
    __rtruediv__ = _reflected("true_div")
    __div__ = _binary("int_or_true_div", "__rdiv__")
    __rdiv__ = _reflected("int_or_true_div")
    __floordiv__ = _binary("int_div", "__rfloordiv__")
    __rfloordiv__ = _reflected("int_div")
    __mod__ = _binary("mod_check", "__rmod__")
    __rmod__ = _reflected("mod_check")
    __pow__ = _binary("pow", "__rpow__")
    __rpow__ = _reflected("pow")
    __lt__ = _binary("lt", "__gt__")
    __le__ = _binary("le", "__ge__")
    __gt__ = _binary("gt", "__lt__")
    __ge__ = _binary("ge", "__le__")
    __and__ = _binary("and_", "__rand__")
    __rand__ = _reflected("and_")
    __or__ = _binary("or_", "__ror__")
    __ror__ = _reflected("or_")
    __xor__ = _binary("xor", "__rxor__")
    __rxor__ = _reflected("xor")
    __matmul__ = _binary("matmul", "__rmatmul__")
    __rmatmul__ = _reflected("matmul")

    def __divmod__(self, other: TensorLike) -> tuple[Tensor, Tensor]:
        return call("int_div", self, other), call("mod", self, other)

    def __getitem__(self, index: IndexLike) -> Tensor:
        result: Tensor = call("getitem", self, index)
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            format_error(
                f"{type(self).__name__!r} object does not support item assignment: an expression does not change",
                context=[describe(self)],  # type: ignore[arg-type]  # the mix-in is only used with Variable
                hint="make a new one: y = T.set_subtensor(x[index], value), or T.inc_subtensor for +=",
            )
        )

    def take(self, indices: TensorLike, axis: AxisLike = None, mode: str = "raise") -> Tensor:
        """Return the elements with the numbers `indices`, along `axis` or of all of them as a vector.

        See :func:`theano_tensor.take` for all arguments.
        """
        result: Tensor = call("take", self, indices, axis=axis, mode=mode)
        return result

    def nonzero(self, return_matrix: bool = False) -> Any:
        """Return the positions of the elements that are not zero, a vector for each dimension.

        See :func:`theano_tensor.nonzero` for all arguments.
        """
        return call("nonzero", self, return_matrix=return_matrix)

    def nonzero_values(self) -> Tensor:
        """Return the elements that are not zero, as a vector.

        See :func:`theano_tensor.nonzero_values` for all arguments.
        """
        result: Tensor = call("nonzero_values", self)
        return result

    def choose(self, choices: TensorLike, out: None = None, mode: str = "raise") -> Tensor:
        """Return for each number in this tensor the element of the choice with that number.

        See :func:`theano_tensor.choose` for all arguments.
        """
        result: Tensor = call("choose", self, choices, out=out, mode=mode)
        return result

    def compress(self, a: TensorLike, axis: AxisLike = None) -> Tensor:
        """Return the parts of `a` along `axis` for which this vector is true.

        See :func:`theano_tensor.compress` for all arguments.
        """
        result: Tensor = call("compress", self, a, axis=axis)
        return result

    def __iter__(self) -> Iterator[Tensor]:
        # A generator: code that asks only whether there is an iterator (`np.iterable`) gets yes.
        length = self.type.shape[0] if self.type.ndim else None
        if length is None:
            raise TypeError(
                format_error(
                    f"cannot iterate over `{self}`: a tensor whose length is not known does not support iteration",
                    context=[describe(self), *asked_where()],  # type: ignore[arg-type]  # this is a variable
                    hint="take items by index (x[0], x[1]), or work on the whole of it with array operations"
                    + (f"; {LOOP_OVER_ITEMS}" if traced() is not None else ""),
                )
            )
        yield from (self[i] for i in range(length))

    def __len__(self) -> int:
        raise TypeError(
            format_error(
                f"object of type {type(self).__name__!r} has no len(): its length is symbolic",
                context=[describe(self)],  # type: ignore[arg-type]  # as above
                hint="use `x.shape[0]`, which is the length as a symbolic integer",
            )
        )

    def __bool__(self) -> bool:
        """Say that there is a variable, as old programs ask (`if mask:`).

        Refuse for comparisons of size, and where `theano.jit` calls a function: there values are asked for.
        """
        op = self.owner.op if self.owner is not None else None  # type: ignore[attr-defined]  # this is a variable
        if not isinstance(getattr(op, "scalar_op", None), _COMPARISONS) and not _asked_in_trace(sys._getframe(1)):
            function = asking_function(sys._getframe(1))
            if function is not None:
                raise TypeError(refusal(function))  # it would decide by a truth value that says nothing
            return True
        raise TypeError(
            format_error(
                f"Variables do not support boolean operations: `{self}` has no truth value before it is computed",
                context=[describe(self), *asked_where()],  # type: ignore[arg-type]  # as above
                hint=_in_place_of_if(),
            )
        )

    def __contains__(self, item: object) -> bool:
        raise TypeError(
            format_error(
                f"`in` cannot be asked of the symbolic `{self}`", hint="use T.any(T.eq(x, item)), which is symbolic too"
            )
        )
