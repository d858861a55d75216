"""Functions that know shared variables: the one constructor of functions, by its older name, and its inputs."""

from typing import Any

from theano_graph import Variable
from theano_linker_c import In, function

pfunc = function


def Param(variable: Variable, default: Any = None, name: str | None = None, **options: Any) -> In:
    """Return an input of a function: `In` under an older name, where the value was called `default`.

    Parameters
    ----------
    variable : Variable
    default : object, optional
        Value of the argument where the caller gives none.
    name : str, optional
    **options
        As for `In`: mutable, strict, allow_downcast, borrow, ...

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> float(theano.function([x, Param(y, default=2.0)], x * y)(3.0))
    6.0
    """
    return In(variable, name=name, value=default, **options)


__all__ = ["Param", "function", "pfunc"]
