"""NumPy's own functions applied to tensor variables: ``np.exp(x)``; errors for those without a symbolic form."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import format_error

from ._methods import OPERATIONS, call

if TYPE_CHECKING:
    from .._core._dtypes import TensorLike


# ---- Errors for functions of NumPy and SciPy without a symbolic form: the full name, and a replacement

#: Modules whose functions are found by name: NumPy's are asked for first, for SciPy has some of them as well.
_MODULES = ("numpy", "scipy.special")

_NAN = "replace NaN first: T.switch(T.isnan(x), 0, x)"
_POSITION = "sort and take by position: T.sort(x)[k], where k is a place in 0, ..., x.shape[0] - 1"
_SPLIT = "use T.split(x, lengths, how_many)"
_JOIN = "use T.concatenate of parts, such as x[:k]"
_FFT = "use theano.tensor.fft.rfft and irfft"
_SHIFT = "multiply or divide (//) by a power of two"
_SETS = "use T.extra_ops.Unique, or compare with T.eq(x.dimshuffle(0, 'x'), y).any(axis=1)"
_ROWS = "use theano.map(function, x), or operations on whole axes"

#: Full name -> replacement.
ADVICE: dict[str, str] = {
    **{f"numpy.nan{name}": _NAN for name in ("sum", "mean", "max", "min", "std", "var", "prod", "cumsum", "cumprod")},
    **{f"numpy.nan{name}": _NAN for name in ("argmax", "argmin", "median", "percentile", "quantile")},
    **{f"numpy.{name}": _POSITION for name in ("percentile", "quantile", "median", "partition")},
    **{f"numpy.{name}": _SPLIT for name in ("split", "array_split", "hsplit", "vsplit", "dsplit")},
    **{f"numpy.{name}": _JOIN for name in ("append", "insert", "delete", "block")},
    **{f"numpy.fft.{name}": _FFT for name in ("fft", "ifft", "rfft", "irfft", "fft2", "fftn", "rfft2", "rfftn")},
    **{f"numpy.{name}": _SHIFT for name in ("left_shift", "right_shift")},
    **{f"numpy.{name}": _SETS for name in ("isin", "in1d", "union1d", "intersect1d", "setdiff1d", "setxor1d")},
    **{f"numpy.{name}": _ROWS for name in ("apply_along_axis", "apply_over_axes", "piecewise")},
    **{f"numpy.{name}": "use T.nnet.conv2d" for name in ("convolve", "correlate")},
    "numpy.allclose": "use T.allclose(x, y), which is symbolic, too",
    "numpy.argpartition": "use T.argsort(x)",
    "numpy.argwhere": "use T.nonzero(x, return_matrix=True).T",
    "numpy.array_equiv": "use T.all(T.eq(x, y))",
    "numpy.average": "use T.mean(x), or (x * weights).sum() / weights.sum()",
    "numpy.column_stack": "use T.stack([x, y], axis=1) of vectors",
    "numpy.copysign": "use T.sgn(y) * abs(x)",
    "numpy.corrcoef": "use T.cov(x)",
    "numpy.cov": "use T.cov(x)",
    "numpy.count_nonzero": "use T.neq(x, 0).sum()",
    "numpy.cumulative_prod": "use T.cumprod(x)",
    "numpy.cumulative_sum": "use T.cumsum(x)",
    "numpy.digitize": "use T.searchsorted(bins, x)",
    "numpy.dstack": "use T.stack([x, y], axis=2) of matrices",
    "numpy.ediff1d": "use T.diff(x)",
    "numpy.extract": "use x[condition.nonzero()]",
    "numpy.fill_diagonal": "use T.fill_diagonal(x, value), which makes a new tensor",
    "numpy.fix": "use T.trunc(x)",
    "numpy.fmax": "use T.maximum(x, y)",
    "numpy.fmin": "use T.minimum(x, y)",
    "numpy.fmod": "use x - y * T.trunc(x / y), or T.mod(x, y), whose sign is that of y",
    "numpy.heaviside": "use T.switch(x < 0, 0, T.switch(x > 0, 1, h))",
    "numpy.histogram": "use T.bincount of the numbers of the bins",
    "numpy.iscomplex": "use T.neq(T.imag(x), 0)",
    "numpy.isneginf": "use T.eq(x, -numpy.inf)",
    "numpy.isposinf": "use T.eq(x, numpy.inf)",
    "numpy.isreal": "use T.eq(T.imag(x), 0)",
    "numpy.kron": "use T.slinalg.kron(x, y), for matrices",
    "numpy.ldexp": "use x * 2**n",
    "numpy.linalg.cond": "use the ratio of the singular values: T.nlinalg.svd(x, compute_uv=False)",
    "numpy.linalg.eigvals": "use T.nlinalg.eig(x)[0], or T.slinalg.eigvalsh(x) for symmetric matrices",
    "numpy.linalg.matrix_rank": "count singular values: (T.nlinalg.svd(x, compute_uv=False) > tolerance).sum()",
    "numpy.logaddexp2": "use T.log2(2**x + 2**y)",
    "numpy.logspace": "use 10 ** T.linspace(start, stop, num)",
    "numpy.modf": "use T.trunc(x) and x - T.trunc(x)",
    "numpy.nan_to_num": "use T.switch(T.isnan(x), 0, x)",
    "numpy.polyval": "use Horner's rule: (c[0] * x + c[1]) * x + c[2]",
    "numpy.put": "use T.set_subtensor(x[index], value), which makes a new tensor",
    "numpy.rollaxis": "use T.moveaxis or x.dimshuffle",
    "numpy.rot90": "use x.T[::-1]",
    "numpy.select": "use T.switch(condition, a, b), one in another",
    "numpy.signbit": "use x < 0",
    "numpy.take_along_axis": "use x[T.arange(x.shape[0]), index]",
    "numpy.trapezoid": "use ((x[1:] + x[:-1]) / 2).sum() * step",
    "numpy.trapz": "use ((x[1:] + x[:-1]) / 2).sum() * step",
    "numpy.vander": "use x.dimshuffle(0, 'x') ** T.arange(n)",
    **{f"scipy.linalg.{name}": f"use T.slinalg.{name}" for name in ("cholesky", "eigvalsh", "expm", "kron", "solve")},
    **{f"scipy.linalg.{name}": f"use T.nlinalg.{name}" for name in ("det", "eigh", "pinv", "svd", "qr")},
    "scipy.linalg.inv": "use T.nlinalg.matrix_inverse(x)",
    "scipy.linalg.solve_triangular": "use T.slinalg.solve_lower_triangular(a, b), or solve_upper_triangular",
    "scipy.special.beta": "use T.exp(T.betaln(a, b))",
    "scipy.special.binom": "use T.exp of T.gammaln(n + 1) - T.gammaln(k + 1) - T.gammaln(n - k + 1)",
    "scipy.special.entr": "use -T.xlogx.xlogx(x)",
    "scipy.special.exp10": "use 10 ** x",
    "scipy.special.log_expit": "use -T.nnet.softplus(-x)",
    "scipy.special.log_ndtr": "use T.log(T.erfc(-x / numpy.sqrt(2)) / 2)",
    "scipy.special.loggamma": "use T.gammaln(x), for real numbers",
    "scipy.special.logit": "use T.log(p / (1 - p))",
    "scipy.special.ndtr": "use T.erfc(-x / numpy.sqrt(2)) / 2",
    "scipy.special.ndtri": "use numpy.sqrt(2) * T.erfinv(2 * p - 1)",
    "scipy.special.factorial": "use T.gamma(n + 1)",
    "scipy.special.comb": "use T.exp of T.gammaln(n + 1) - T.gammaln(k + 1) - T.gammaln(n - k + 1)",
    "scipy.special.log_softmax": "use T.nnet.logsoftmax(x)",
    "scipy.special.logsumexp": "use T.log(T.sum(T.exp(x), axis)), which is computed without overflow",
    "scipy.special.poch": "use T.exp(T.gammaln(x + n) - T.gammaln(x))",
    "scipy.special.rgamma": "use 1 / T.gamma(x)",
    "scipy.special.softmax": "use T.nnet.softmax(x)",
    "scipy.special.xlog1py": "use x * T.log1p(y)",
    "scipy.special.xlogy": "use T.xlogx.xlogy0(x, y)",
    "scipy.special.zeta": "T.psi and T.tri_gamma are its relatives; other orders need an op of your own (theano.Op)",
}  # fmt: skip


def _has(module: ModuleType, name: str, function: object) -> bool:
    return getattr(module, name, None) is function


def full_name(function: Any) -> str:
    """Return the name under which users know a function of NumPy or SciPy.

    Parameters
    ----------
    function : callable
        A ufunc, which knows only its own name, or another function.

    Examples
    --------
    >>> import numpy
    >>> full_name(numpy.exp), full_name(numpy.linalg.norm)
    ('numpy.exp', 'numpy.linalg.norm')
    """
    name = str(function.__name__)
    if not isinstance(function, np.ufunc):
        return f"{function.__module__}.{name}"
    for path in _MODULES:
        module = sys.modules.get(path)
        if module is not None and _has(module, name, function):
            return f"{path}.{name}"
    # `scipy.special.zeta` asks a ufunc called `_zeta`.
    if name.startswith("_") and hasattr(sys.modules.get("scipy.special"), name[1:]):
        return f"scipy.special.{name[1:]}"
    return name


def asking_function(frame: FrameType | None) -> str | None:
    """Return the name of the function of SciPy that asks for an array, or None if nobody of SciPy does.

    Parameters
    ----------
    frame : frame or None
        The caller; its callers are followed as long as they are code of SciPy and NumPy.
    """
    function: str | None = None
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        # Sparse matrices ask whether an operand is an array, and leave operators to others.
        if not module.startswith(("scipy.", "numpy.")) or module.startswith("scipy.sparse."):
            break
        function = _public(module, frame.f_code.co_qualname) or _wrapped(frame) or function
        frame = frame.f_back
    return function


def _public(module: str, name: str) -> str | None:
    """Return the name under which users know a function of a module of SciPy, or None if they do not."""
    path = module.split("._")[0]
    is_public = path.startswith("scipy.") and hasattr(sys.modules.get(path), name.split(".")[0])
    return f"{path}.{name}" if is_public else None


def _wrapped(frame: FrameType) -> str | None:
    """Return the name of the function that a decorator's code runs for."""
    for name in frame.f_code.co_freevars:
        function = frame.f_locals.get(name)
        if callable(function) and hasattr(function, "__qualname__"):
            public = _public(str(function.__module__), function.__qualname__)
            if public is not None:
                return public
    return None


def refusal(what: str, function: str | None = None) -> str:
    """Return the text for a function without a symbolic form.

    Parameters
    ----------
    what : str
        The function.
    function : str, optional
        The full name of the function, where `what` says more than that.
    """
    name = function or what
    advice = ADVICE.get(name) if what == name else None
    if advice is None:
        advice = _nearest(name.rpartition(".")[2])
    return format_error(f"{what} has no symbolic form", hint=f"{advice}, or compute the value with `x.eval()`")


def _nearest(name: str) -> str:
    """Return advice about functions of tensors with the same name, or one like it."""
    ours = {
        word.strip("_"): word
        for word in getattr(sys.modules[__name__.partition(".")[0]], "__all__", ())
        if word.islower()
    }
    close = [name] if name in ours else difflib.get_close_matches(name, ours, n=2, cutoff=0.75)
    if not close:
        return "use functions of theano.tensor"
    return f"use {' or '.join(f'theano.tensor.{ours[word]}' for word in close)}"


# ---- NumPy's own functions applied to tensor variables: ``np.exp(x)``, ``np.concatenate([x, y])``

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
