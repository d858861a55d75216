"""The base class of ops."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import (
    MissingTestValueError,
    PureOp as PureOp,
    Variable,
    config,
    format_error,
    get_test_value as _test_value_of,
)
from theano_linker_c.cop import COp as COp, OpenMPOp as OpenMPOp

from .._names import lazy_names

if TYPE_CHECKING:
    from .._typed import Op as Op
else:
    from theano_graph import Op as Op
from ._linkers import CLinkerObject as CLinkerObject, CLinkerOp as CLinkerOp


def get_debug_values(*args: Any) -> list[tuple[Any, ...]]:
    """Return the test values of variables, in a list of one tuple, if all have one; an empty one while these are off.

    Meant for a loop around checks that a function makes while a graph is built: it runs once or not at all.

    Parameters
    ----------
    *args : variables

    Raises
    ------
    MissingTestValueError
        If a variable has none, and the flag ``compute_test_value`` is 'raise'.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof import op
    >>> import theano, theano.tensor as T
    >>> x = T.dscalar("x")
    >>> x.tag.test_value = 2.0
    >>> with theano.config.change_flags(compute_test_value="warn"):
    ...     print([float(value) for (value,) in op.get_debug_values(x)])
    [2.0]
    """
    if config.compute_test_value == "off":
        return []
    values = []
    for variable in args:
        try:
            values.append(get_test_value(variable))
        except MissingTestValueError as error:
            if config.compute_test_value == "raise":
                raise
            if config.compute_test_value == "warn":
                warnings.warn(str(error), UserWarning, stacklevel=3)
            return []
    return [tuple(values)]


def get_test_value(v: Any) -> Any:
    """Return the test value of `v` while graphs are built; of an object that is no variable, its array.

    Raises
    ------
    MissingTestValueError
        If a variable has none; an AttributeError.

    Examples
    --------
    >>> from theano.gof import op
    >>> op.get_test_value([1, 2])
    array([1, 2])
    """
    return _test_value_of(v) if isinstance(v, Variable) else np.asarray(v)


PureOp._get_test_value = staticmethod(get_test_value)  # type: ignore[attr-defined]  # a name of old programs


def debug_assert(condition: object, msg: str | None = None) -> None:
    """Complain if `condition` is false, while test values are computed.

    Raises
    ------
    AssertionError
        With the flag ``compute_test_value`` set to 'raise' or 'ignore'; with 'warn' it is a warning.
    """
    if not condition:
        _complain(msg or "a check of test values failed", AssertionError)


def debug_error_message(msg: str) -> None:
    """Say that test values are wrong: by an error or a warning, as the flag ``compute_test_value`` asks.

    Raises
    ------
    ValueError
        With the flag set to 'raise' or 'ignore'; with 'warn' it is a warning.
    """
    _complain(msg, ValueError)


def missing_test_message(msg: str) -> None:
    """Say that a test value is missing: by an error or a warning, as the flag ``compute_test_value`` asks.

    Raises
    ------
    MissingTestValueError
        With the flag set to 'raise'; an AttributeError. With 'warn' it is a warning.
    """
    if config.compute_test_value == "raise":
        raise MissingTestValueError(msg)
    if config.compute_test_value == "warn":
        warnings.warn(msg, UserWarning, stacklevel=2)


def _complain(msg: str, kind: type[Exception]) -> None:
    text = format_error(msg, hint="look at the test values of its inputs (tag.test_value)")
    if config.compute_test_value in ("raise", "ignore"):
        raise kind(text)
    if config.compute_test_value == "warn":
        warnings.warn(text, UserWarning, stacklevel=3)


if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import FunctionGraph as FunctionGraph, config as config

    from .._compat import PY3 as PY3
    from . import graph as graph, utils as utils
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "theano_graph": "FunctionGraph config",
            ".._compat": "PY3",
            "theano": "theano",
            ".": "graph utils",
        },
    )
