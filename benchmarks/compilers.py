"""Mathematical functions of 10^6 elements by gcc and by clang, whose kernels compute them by forms of ours."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import numpy
from harness import OURS, Options, Row, compare

import theano
import theano.tensor as T

FUNCTIONS = {
    **{name: getattr(T, name) for name in ("exp", "expm1", "log", "log1p", "tanh", "erf", "sin", "cos")},
    "sigmoid": T.nnet.sigmoid,
    "softplus": T.nnet.softplus,
}
#: How many times as long as with gcc a function may take with clang.
MOST = 1.3


def run(options: Options) -> list[Row]:
    return [_row(name, dtype, options) for name in FUNCTIONS for dtype in ("float32", "float64")]


def _row(name: str, dtype: str, options: Options) -> Row:
    contenders = {OURS: _call(name, dtype, "clang"), "gcc": _call(name, dtype, "gcc")}
    case = f"{name}, 10^6 elements, {dtype}, by clang"
    return Row(case, compare(contenders, options), ahead={"gcc": 1 / MOST})


def _call(name: str, dtype: str, compiler: str) -> Callable[[], object] | None:
    path = shutil.which(compiler)
    if path is None:
        return None
    values = numpy.random.default_rng(0).uniform(0.01, 6, 10**6).astype(dtype)
    x, y = theano.shared(values), theano.shared(numpy.empty_like(values))
    with theano.config.change_flags(cxx=path):
        return theano.function([], updates=[(y, FUNCTIONS[name](x))])
