"""Errors for functions of NumPy and SciPy without a symbolic form: the full name, and a replacement."""

from __future__ import annotations

import difflib
import sys
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from theano_graph import format_error

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
