"""Python's questions for a number that a symbolic tensor does not have yet: its value."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from theano_graph import Variable, describe, format_error, graph_inputs

from .._errors import NotNumericError
from ._numpy_advice import asking_function, refusal
from ._operations import call
from ._tracing import asked_where, decided_by_python, loop_in_place_of_for


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
