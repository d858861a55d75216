"""NumPy's own functions applied to tensor variables: ``np.exp(x)``, ``np.concatenate([x, y])``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import format_error

from ._numpy_advice import asking_function, full_name, refusal
from ._operations import OPERATIONS, call

if TYPE_CHECKING:
    from .._core._typing import TensorLike

#: Full name of a function of NumPy or SciPy -> its symbolic form, where the name alone does not say which it is.
SYMBOLIC: dict[str, Callable[..., Any]] = {}

#: NumPy's name of a ufunc -> the name in `OPERATIONS` where they differ.
UFUNC_NAMES: dict[str, str] = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "true_div",
    "floor_divide": "int_div",
    "remainder": "mod",
    "power": "pow",
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
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "conjugate": "conj",
}


def _truth(x: TensorLike) -> Any:
    return call("neq", x, 0)


def _as_object(x: object) -> Any:
    """Return an array of objects; a variable is one object, but for functions of SciPy, which want numbers."""
    if isinstance(x, NumpyProtocols):
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
            frame = frame.f_back
        function = asking_function(frame)
        if function is not None:
            raise TypeError(refusal(function))
        box = np.empty((), dtype=object)
        box[()] = x
        return box
    return np.asarray(x, dtype=object)


#: Ufuncs that are several operations, and ufuncs that are none.
_COMPOSED: dict[str, Callable[..., Any]] = {
    # The questions of `array == variable`: variables are looked for in lists, and compared by identity.
    "equal": lambda x, y: x is y,
    "not_equal": lambda x, y: x is not y,
    "logical_and": lambda x, y: call("and_", _truth(x), _truth(y)),
    "logical_or": lambda x, y: call("or_", _truth(x), _truth(y)),
    "logical_xor": lambda x, y: call("xor", _truth(x), _truth(y)),
    "logical_not": lambda x: call("eq", x, 0),
    "isfinite": lambda x: call("invert", call("or_", call("isnan", x), call("isinf", x))),
    "positive": lambda x: call("tensor_copy", x),
    "divmod": lambda x, y: (call("int_div", x, y), call("mod", x, y)),
    "float_power": lambda x, y: call("pow", call("cast", x, "float64"), y),
    "rint": lambda x: call("round", x, "half_to_even"),
}

#: (Ufunc, method) -> the reduction that it is, which NumPy applies to the first axis by default.
_REDUCTIONS: dict[tuple[str, str], str] = {
    ("add", "reduce"): "sum",
    ("multiply", "reduce"): "prod",
    ("maximum", "reduce"): "max",
    ("minimum", "reduce"): "min",
    ("logical_and", "reduce"): "all",
    ("logical_or", "reduce"): "any",
    ("add", "accumulate"): "cumsum",
    ("multiply", "accumulate"): "cumprod",
}

#: Functions of NumPy with their meaning and name in `OPERATIONS`, and those with another name there.
_SAME_NAME = frozenset(
    {
        # shapes and order
        *("broadcast_to", "concatenate", "diag", "diagonal"),
        *("expand_dims", "flip", "fliplr", "flipud", "moveaxis", "pad", "ravel", "repeat", "reshape", "roll"),
        *("shape", "size", "squeeze", "stack", "swapaxes", "tile", "transpose", "tril", "triu"),
        # elements
        *("angle", "choose", "clip", "compress", "cumprod", "cumsum", "diff", "flatnonzero", "imag"),
        *("isclose", "nonzero", "real", "take", "where"),
        # reductions, sorting and products
        *("all", "any", "argmax", "argmin", "argsort", "bincount", "dot", "einsum", "inner", "max", "mean"),
        *("min", "outer", "prod", "ptp", "searchsorted", "sort", "std", "sum", "tensordot", "trace"),
        *("unique", "var", "vdot"),
    }
)
FUNCTION_NAMES: dict[str, str] = {
    "amax": "max",
    "amin": "min",
    "copy": "tensor_copy",
    "hstack": "horizontal_stack",
    "product": "prod",
    "vstack": "vertical_stack",
}


def _round(x: TensorLike, decimals: int = 0) -> Any:
    if decimals:
        raise TypeError(
            format_error(
                f"numpy.round to {decimals} decimals has no symbolic form", hint="scale: T.round(x * 100) / 100"
            )
        )
    return call("round", x, "half_to_even")


def _atleast(ndim: int) -> Callable[..., Any]:
    def wrapped(*arrays: Any) -> Any:
        operands = [
            _as_object(x).reshape((1,) * ndim) if isinstance(x, NumpyProtocols) else _PLAIN[ndim](x) for x in arrays
        ]
        return operands[0] if len(operands) == 1 else type(_PLAIN[ndim](0, 0))(operands)

    return wrapped


_PLAIN: dict[int, Callable[..., Any]] = {1: np.atleast_1d, 2: np.atleast_2d, 3: np.atleast_3d}


def _like(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes an array like an array of one object, which a variable is to NumPy."""

    def made(x: TensorLike, *args: Any, **kwargs: Any) -> Any:
        return make(_as_object(x), *args, **kwargs)

    return made


def _array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    if isinstance(a, NumpyProtocols) or isinstance(b, NumpyProtocols):
        return a is b
    return bool(np.array_equal(a, b, equal_nan=equal_nan))


def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    return np.broadcast_arrays(*map(_as_object, args), subok=subok)


def _result_type(*args: Any) -> Any:
    return np.result_type(*(getattr(x, "dtype", x) for x in args))


def _is_complex(x: Any) -> bool:
    return bool(np.dtype(x.dtype).kind == "c")


#: Functions with a form of their own. Functions with a meaning in old programs keep it: a variable was one object.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "atleast_1d": _atleast(1),
    "atleast_2d": _atleast(2),
    "atleast_3d": _atleast(3),
    "ones_like": _like(np.ones_like),
    "zeros_like": _like(np.zeros_like),
    "empty_like": _like(np.empty_like),
    "full_like": _like(np.full_like),
    "array_equal": _array_equal,
    "broadcast_arrays": _broadcast_arrays,
    "result_type": _result_type,
    "iscomplexobj": _is_complex,
    "isrealobj": lambda x: not _is_complex(x),
    "round": _round,
    "around": _round,
    "round_": _round,
    "ndim": lambda x: x.ndim,
}


class NumpyProtocols:
    """Makes functions of NumPy build expressions."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Build the expression of a ufunc; TypeError for arguments and ufuncs that have no symbolic form."""
        full = full_name(ufunc)
        name = ufunc.__name__
        if method != "__call__":
            return _reduced(full, name, method, inputs, kwargs)
        if kwargs.keys() == {"out"} and len(inputs) == 2 and kwargs["out"] == (inputs[0],):
            kwargs = {}  # `array -= variable`: the name gets the result, and the array stays as it is
        function = SYMBOLIC.get(full)
        if function is None and not full.startswith("scipy."):
            function = _COMPOSED.get(name) or OPERATIONS.get(UFUNC_NAMES.get(name, name))
        if kwargs or function is None:
            keywords = f" with {', '.join(kwargs)}" if kwargs else ""
            raise TypeError(refusal(f"{full}{keywords}", full))
        return function(*inputs)

    def __array_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Build the expression of a function of NumPy; TypeError for functions without a symbolic form."""
        full = full_name(func)
        name = func.__name__
        function = SYMBOLIC.get(full)
        if function is None and func.__module__ == "numpy":
            known = name if name in _SAME_NAME else FUNCTION_NAMES.get(name)
            function = _FUNCTIONS.get(name) or (OPERATIONS.get(known) if known is not None else None)
        if function is None:
            raise TypeError(refusal(full))
        options = {key: value for key, value in kwargs.items() if value is not None}
        if "out" in options:
            raise TypeError(refusal(f"{full} with out", full))
        return function(*args, **options)


def _reduced(full: str, name: str, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    reduction = _REDUCTIONS.get((name, method)) if full == f"numpy.{name}" else None
    if reduction is None or len(inputs) != 1 or set(kwargs) - {"axis", "keepdims"}:
        raise TypeError(refusal(f"{full}.{method}", full))
    return call(reduction, *inputs, **{"axis": 0, **kwargs})
