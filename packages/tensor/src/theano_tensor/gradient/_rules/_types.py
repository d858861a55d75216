"""Types of gradients that have no value, and the functions that make such gradients."""

from __future__ import annotations

from typing import Never

from theano_graph import Op, SingletonType, Type, Variable, format_error

from ..._protocols._operations import operation
from ._errors import GradNotImplementedError, GradUndefinedError, NullTypeGradError


class DisconnectedType(SingletonType):
    """The type of the gradient of a cost with respect to something that it does not depend on.

    A variable of this type is a symbolic zero that also says why it is zero. It has no value and cannot be compiled.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.DisconnectedType() == T.DisconnectedType()
    True
    """

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Never:
        """Refuse every value.

        Raises
        ------
        TypeError
            Always.
        """
        raise self.no_value()

    def no_value(self) -> TypeError:
        """Return the error for whoever needs a value of this type, for instance to compile a function."""
        return TypeError(
            format_error(
                "a disconnected gradient has no value",
                hint="ask `grad` for zeros instead: return_disconnected='zero', disconnected_inputs='ignore'",
            )
        )

    def is_valid_value(self, value: object) -> bool:
        """Tell whether `value` has this type: none has."""
        return False


class NullType(Type):
    """The type of a gradient that is undefined or that nobody has written.

    Parameters
    ----------
    reason : str
        Why there is no gradient, as one sentence without a full stop.
    error : type
        The exception when the gradient is asked for.

    Invariants
    ----------
    All instances with one reason are equal. No value has this type.
    """

    def __init__(
        self, reason: str = "this gradient cannot be computed", error: type[NullTypeGradError] = NullTypeGradError
    ) -> None:
        self.reason = reason
        self.error = error

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Never:
        """Refuse every value.

        Raises
        ------
        NullTypeGradError
            Always; the class is the one given at construction.
        """
        raise self.no_value()

    def no_value(self) -> NullTypeGradError:
        """Return the error for whoever needs a value of this type, for instance to compile a function."""
        return self.error(format_error(self.reason, hint="leave this gradient out of the expression"))

    def is_valid_value(self, value: object) -> bool:
        """Tell whether `value` has this type: none has."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NullType) and (self.reason, self.error) == (other.reason, other.error)

    def __hash__(self) -> int:
        return hash((NullType, self.reason, self.error))

    def __str__(self) -> str:
        return f"NullType({self.reason})"


def _where(op: Op, position: int, x: Variable, comment: str) -> str:
    origin = f", made at {x.origin}" if x.origin is not None else ""
    return f"{op} with respect to its input {position} (`{x}`{origin})" + (f": {comment}" if comment else "")


@operation("grad_undefined")
def grad_undefined(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return a variable that stands for a gradient which does not exist mathematically.

    Parameters
    ----------
    op : Op
        The op that is differentiated.
    x_pos : int
        Position of the input among the inputs of the node.
    x : Variable
        That input.
    comment : str
        Why; becomes part of the error.

    Returns
    -------
    NullType
        Asking for a gradient that contains it raises :class:`GradUndefinedError`.
    """
    reason = f"the gradient is undefined for {_where(op, x_pos, x, comment)}"
    variable: Variable = NullType(reason, GradUndefinedError)()
    return variable


def grad_not_implemented(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return a variable that stands for a gradient which exists but has not been written.

    Parameters
    ----------
    op : Op
    x_pos : int
    x : Variable
    comment : str
        As for :func:`grad_undefined`.

    Returns
    -------
    NullType
        Asking for a gradient that contains it raises :class:`GradNotImplementedError`, a ``NotImplementedError``.
    """
    reason = f"no gradient has been written for {_where(op, x_pos, x, comment)}"
    variable: Variable = NullType(reason, GradNotImplementedError)()
    return variable


def is_disconnected(variable: Variable | None) -> bool:
    """Tell whether a cotangent stands for "no dependence"."""
    return variable is None or isinstance(variable.type, DisconnectedType)


def is_null(variable: Variable | None) -> bool:
    """Tell whether a cotangent stands for "cannot be computed"."""
    return variable is not None and isinstance(variable.type, NullType)
