"""Python's operators on tensor variables, and its questions for numbers that are not there yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import Constant, Variable, current_origin, describe, format_error, graph_inputs, is_library_module
from theano_linker_c import scalar

from .._errors import NotNumericError
from ._methods import OPERATIONS, ElementMethods, OrderMethods, ReductionMethods, TensorAttributes, call
from ._numpy_protocols import NumpyProtocols, asking_function, refusal

if TYPE_CHECKING:
    from .._core._dtypes import AxisLike, IndexLike, TensorLike
    from .._core._type import Tensor


# ---- Functions in plain Python that are being called with symbolic values, and hints for their errors


@dataclass(slots=True)
class Trace:
    """One call of a function with symbolic arguments.

    Attributes
    ----------
    name : str
        The function's name, for messages.
    updates : dict
        New values of shared variables that loops in it have returned, and that its function stores.
    """

    name: str
    updates: dict[Variable, Variable] = field(default_factory=dict)


#: The call that is being made in this thread, or None.
_traced: ContextVar[Trace | None] = ContextVar("theano_tensor_traced", default=None)
#: Returns it. It is the variable's own method: each call of a jitted function asks.
traced = _traced.get


@contextmanager
def tracing(name: str) -> Iterator[Trace]:
    """Note that the code inside runs a function of the user with symbolic arguments.

    Variables have no truth value then, and errors name the replacements of Python's `if`, loops and numbers.

    Parameters
    ----------
    name : str
        The function's name, for messages.

    Examples
    --------
    >>> from theano_tensor.builders import traced, tracing
    >>> with tracing("f"):
    ...     traced().name
    'f'
    """
    trace, around = Trace(name), _traced.get()
    token = _traced.set(trace)
    try:
        yield trace
    finally:
        _traced.reset(token)
    if around is not None:
        around.updates.update(trace.updates)


def note_updates(updates: Mapping[Any, Any]) -> None:
    """Tell the call that is being traced, if there is one, of new values that a loop has for shared variables."""
    trace = _traced.get()
    if trace is not None:
        trace.updates.update(updates)


def asked_where() -> list[str]:
    """Return, while a function is traced, the line of it that asks for a value; for the lines of an error."""
    trace, origin = _traced.get(), current_origin()
    if trace is None or origin is None:
        return []
    return [f"asked at {origin}, in `{trace.name}`, which is called to be compiled"]


def decided_by_python() -> str | None:
    """Return, while a function is traced, how an argument becomes one whose value Python knows; None otherwise."""
    if _traced.get() is None:
        return None
    return "or name the argument in `static_argnames` of theano.jit: its value is then known, and each is compiled"


#: The replacement of a loop over an array, in a function that is traced.
LOOP_OVER_ITEMS = "theano.functional.scan(body, init, x) is a loop over the items of x, as theano.scan is"


def loop_in_place_of_for() -> str:
    """Return the replacement of a loop over a range: the form over containers where a function is traced."""
    return "theano.scan" if _traced.get() is None else "theano.functional.fori_loop(lower, upper, body, init)"


# ---- Python's questions for a number that a symbolic tensor does not have yet: its value


def _way_to_value(variable: Any) -> str:
    traced = decided_by_python()
    if traced is not None:
        return traced
    if hasattr(variable, "get_value"):
        return "`x.get_value()` is the value that a shared variable has now"
    if hasattr(variable, "data"):
        return "`x.data` is the value of a constant"
    return "`x.eval({input: value})` computes it now"


def _named(variable: Any) -> list[Variable]:
    """Return the variable and, where it has no name, named ones that it is computed of."""
    if variable.name is not None or variable.owner is None:
        return [variable]
    return [variable, *[x for x in graph_inputs([variable]) if x.name is not None][:3]]


def _refused(variable: Any, what: str, symbolic: str, who: str = "Python") -> NotNumericError:
    """Return the error for a number that is asked of a variable.

    Parameters
    ----------
    variable : Tensor
    what : str
        The question.
    symbolic : str
        How the same is said in an expression.
    who : str
        Who asks.
    """
    if variable.type.ndim:
        what = f"{what}: it stands for an array of {variable.type.ndim} dimensions, not for one number"
    return NotNumericError(
        format_error(
            f"`{variable}` is symbolic, so that {who} cannot take it as {what}",
            context=[*(describe(x) for x in _named(variable)), *asked_where()],
            hint=f"{symbolic}; {_way_to_value(variable)}",
        )
    )


class Numbers:
    """Gives advice where Python, `math` or NumPy ask for the number that a variable stands for."""

    __slots__ = ()

    def __float__(self) -> float:
        raise _refused(
            self,
            "a float",
            "use T.exp, T.sqrt, ... in place of functions of math, and x.astype('float64') for float(x)",
        )

    def __complex__(self) -> complex:
        raise _refused(
            self, "a complex number", "use T.exp, ... in place of functions of cmath, and x.astype('complex128')"
        )

    def __int__(self) -> int:
        raise _refused(self, "an int", "use x.astype('int64') in place of int(x)")

    def __index__(self) -> int:
        raise _refused(
            self,
            "an integer for an index, a range or a shape",
            f"use T.arange in place of range and {loop_in_place_of_for()} in place of a loop, "
            "T.zeros(x.shape) or T.zeros_like(x) in place of numpy.zeros, and make a list a tensor "
            "(T.as_tensor_variable) before it is indexed",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Return an array that holds the variable as an object; refuse to be numbers for NumPy or SciPy."""
        function = asking_function(sys._getframe(1))
        if function is not None:
            raise TypeError(refusal(function))
        if dtype is not None and np.dtype(dtype) != object:
            raise _refused(
                self,
                f"an array of {np.dtype(dtype)}",
                "use functions of theano.tensor (T.cast for another dtype)",
                "NumPy",
            )
        holder = np.empty((), dtype=object)
        holder[()] = self
        return holder

    def __format__(self, spec: str) -> str:
        if spec and spec[-1] in "bcdeEfFgGnoxX%":
            raise _refused(self, f"a number for the format {spec!r}", "use theano.printing.Print(message)(x)")
        return format(str(self), spec)

    def __round__(self, ndigits: int | None = None) -> Any:
        """Return the nearest whole numbers, halves to the even one, as NumPy does."""
        if ndigits is not None:
            raise NotNumericError(
                format_error(
                    f"round: `{self}` can be rounded to whole numbers only, not to {ndigits} digits",
                    context=[describe(self)],  # type: ignore[arg-type]  # the mix-in is only used with Variable
                    hint=f"scale it: round(x * 10**{ndigits}) / 10**{ndigits}",
                )
            )
        return call("round", self, "half_to_even")


# ---- Python's operators on tensor variables


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
