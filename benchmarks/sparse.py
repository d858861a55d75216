"""Sparse matrices: products with their gradients, sums, scales, and a training step on sparse rows.

Matrices of 10^4 x 10^4 with one element in a thousand, dense ones of 64 columns. SciPy's figures are those of its own
operators, written as one would write them by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy
import scipy.sparse
from harness import OURS, Options, Row, compare, peer

LENGTH, COLUMNS, DENSITY = 10_000, 64, 1e-3
BATCH, FEATURES, CLASSES = 256, 100_000, 10
#: So small that even many steps hardly change the weights.
RATE = 1e-6
#: The aim where all do the same in SciPy or in memory, and differ by chance.
_SAME = 0.9
Call = Callable[[], object]
#: From a library to a function of the values.
Build = Callable[[Any], Callable[..., object]]


def libraries() -> dict[str, Any]:
    """Return the modules that build graphs, by contender; None where it is not installed."""
    import theano
    import theano.sparse
    import theano.tensor

    modules: dict[str, Any] = {
        OURS: SimpleNamespace(base=theano, tensor=theano.tensor, sparse=theano.sparse, function=theano.function)
    }
    pytensor: Any = peer("pytensor")
    for name, mode in (("pytensor", None), ("pytensor (c)", "CVM")):
        modules[name] = pytensor and SimpleNamespace(
            base=pytensor,
            tensor=peer("pytensor.tensor"),
            sparse=peer("pytensor.sparse"),
            function=partial(pytensor.function, mode=mode),
        )
    return modules


def stored(format: str, dtype: str, seed: int = 0, shape: tuple[int, int] = (LENGTH, LENGTH)) -> Any:
    """Return a random sparse matrix."""
    rng = numpy.random.default_rng(seed)
    return scipy.sparse.random(*shape, DENSITY, format=format, dtype=dtype, random_state=rng)


def dense(dtype: str, rows: int = LENGTH, columns: int = COLUMNS, seed: int = 1) -> Any:
    """Return a random dense matrix."""
    return numpy.random.default_rng(seed).normal(size=(rows, columns)).astype(dtype)


def row(case: str, build: Build, values: tuple[Any, ...], by_hand: Call, options: Options, times: float = 1.0) -> Row:
    """Time a function beside PyTensor's and SciPy's; `times` is how much faster than both we want to be."""
    contenders: dict[str, Call | None] = {}
    for name, library in libraries().items():
        contenders[name] = None if library is None else partial(build(library), *values)
    contenders["scipy"] = by_hand
    peers = dict.fromkeys(("pytensor", "pytensor (c)", "scipy"), times)
    return Row(case, compare(contenders, options), ahead=peers)


def structured_dot(format: str, dtype: str, options: Options) -> list[Row]:
    """Time the product, and the product with both of its gradients."""
    x_value, m_value = stored(format, dtype), dense(dtype)
    cotangent = dense(dtype, seed=2)
    places = x_value.tocoo()

    def forward(library: Any) -> Callable[..., object]:
        x, m = getattr(library.sparse, f"{format}_matrix")("x", dtype), library.tensor.matrix("m", dtype=dtype)
        compiled: Callable[..., object] = library.function([x, m], library.sparse.structured_dot(x, m))
        return compiled

    def gradient(library: Any) -> Callable[..., object]:
        x, m = getattr(library.sparse, f"{format}_matrix")("x", dtype), library.tensor.matrix("m", dtype=dtype)
        g = library.tensor.matrix("g", dtype=dtype)
        product = library.sparse.structured_dot(x, m)
        slopes = library.base.grad(None, [x, m], known_grads={product: g})
        compiled: Callable[..., object] = library.function([x, m, g], [product, *slopes])
        return compiled

    def by_hand() -> object:
        data = numpy.einsum("ij,ij->i", cotangent[places.row], m_value[places.col])
        like = type(x_value)((data, x_value.indices, x_value.indptr), shape=x_value.shape)
        return x_value @ m_value, like, x_value.T @ cotangent

    case = f"structured_dot, {format}, {dtype}"
    return [
        row(case, forward, (x_value, m_value), lambda: x_value @ m_value, options),
        row(f"{case}, with both gradients", gradient, (x_value, m_value, cotangent), by_hand, options, 1.5),
    ]


def of_two_sparse(options: Options) -> list[Row]:
    """Time product, sum and difference of two sparse matrices."""
    a, b = stored("csr", "float64"), stored("csr", "float64", seed=1)

    def apply(name: str) -> Build:
        def build(library: Any) -> Callable[..., object]:
            x, y = (library.sparse.csr_matrix(letter, "float64") for letter in "xy")
            compiled: Callable[..., object] = library.function([x, y], getattr(library.sparse, name)(x, y))
            return compiled

        return build

    return [
        row("true_dot of two csr matrices", apply("true_dot"), (a, b), lambda: a @ b, options, _SAME),
        row("sum of two csr matrices", apply("add"), (a, b), lambda: a + b, options, _SAME),
        row("difference of two csr matrices", apply("sub"), (a, b), lambda: a - b, options, _SAME),
    ]


def of_one(options: Options) -> list[Row]:
    """Time sums along axes, scales of rows and columns, and the dense form."""
    a = stored("csr", "float64")
    small = stored("csr", "float64", shape=(1000, 1000))
    factors = numpy.arange(float(LENGTH))
    diagonal = scipy.sparse.diags_array(factors)

    def apply(name: str, *numbers: Any, vector: bool = False) -> Build:
        def build(library: Any) -> Callable[..., object]:
            x, v = library.sparse.csr_matrix("x", "float64"), library.tensor.dvector("v")
            inputs = [x, v] if vector else [x]
            compiled: Callable[..., object] = library.function(inputs, getattr(library.sparse, name)(*inputs, *numbers))
            return compiled

        return build

    return [
        row("sp_sum of csr, over rows", apply("sp_sum", 0), (a,), lambda: a.sum(0), options),
        row("sp_sum of csr, over columns", apply("sp_sum", 1), (a,), lambda: a.sum(1), options),
        row("sp_sum of csr", apply("sp_sum"), (a,), lambda: a.sum(), options),
        row("row_scale of csr", apply("row_scale", vector=True), (a, factors), lambda: diagonal @ a, options),
        row("col_scale of csr", apply("col_scale", vector=True), (a, factors), lambda: a @ diagonal, options),
        row("dense form of csr, 1000 x 1000", apply("dense_from_sparse"), (small,), small.toarray, options, _SAME),
    ]


def with_dense(options: Options) -> list[Row]:
    """Time products at the places of a pattern, and a product added to a dense matrix."""
    pattern, u, v = stored("csr", "float64"), dense("float64"), dense("float64", seed=2)
    places = pattern.tocoo()

    def sampling(library: Any) -> Callable[..., object]:
        x, y, p = library.tensor.dmatrix("x"), library.tensor.dmatrix("y"), library.sparse.csr_matrix("p", "float64")
        compiled: Callable[..., object] = library.function([x, y, p], library.sparse.sampling_dot(x, y, p))
        return compiled

    def sampling_by_hand() -> object:
        data = pattern.data * numpy.einsum("ij,ij->i", u[places.row], v[places.col])
        return scipy.sparse.csr_matrix((data, pattern.indices, pattern.indptr), shape=pattern.shape)

    def usmm(library: Any) -> Callable[..., object]:
        x, y, z = library.sparse.csr_matrix("x", "float64"), library.tensor.dmatrix("y"), library.tensor.dmatrix("z")
        compiled: Callable[..., object] = library.function([x, y, z], z - 0.5 * library.sparse.dot(x, y))
        return compiled

    return [
        row("sampling_dot at the places of csr", sampling, (u, v, pattern), sampling_by_hand, options),
        row("z - 0.5 * dot(csr, y)", usmm, (pattern, u, v), lambda: v - 0.5 * (pattern @ u), options),
    ]


def training(options: Options) -> list[Row]:
    """Time a step of softmax regression on sparse rows."""
    x_value = stored("csr", "float64", shape=(BATCH, FEATURES))
    y_value = numpy.random.default_rng(3).integers(0, CLASSES, BATCH)
    rows = numpy.arange(BATCH)

    def build(library: Any) -> Callable[..., object]:
        x, y = library.sparse.csr_matrix("x", "float64"), library.tensor.lvector("y")
        w = library.base.shared(numpy.zeros((FEATURES, CLASSES)), name="w")
        b = library.base.shared(numpy.zeros(CLASSES), name="b")
        scores = library.sparse.structured_dot(x, w) + b
        softmax: Any = (
            library.tensor.nnet.softmax if hasattr(library.tensor, "nnet") else library.tensor.special.softmax
        )
        chances = softmax(scores) if library.base.__name__ == "theano" else softmax(scores, axis=1)
        cost = -library.tensor.log(chances[library.tensor.arange(y.shape[0]), y]).mean()
        updates = [(p, p - RATE * library.base.grad(cost, p)) for p in (w, b)]
        compiled: Callable[..., object] = library.function([x, y], cost, updates=updates)
        return compiled

    weights, bias = numpy.zeros((FEATURES, CLASSES)), numpy.zeros(CLASSES)

    def by_hand() -> object:
        scores = x_value @ weights + bias
        shifted = scores - scores.max(1, keepdims=True)
        chances = numpy.exp(shifted)
        chances /= chances.sum(1, keepdims=True)
        cost = -numpy.log(chances[rows, y_value]).mean()
        chances[rows, y_value] -= 1
        chances *= RATE / BATCH
        numpy.subtract(weights, x_value.T @ chances, out=weights)
        numpy.subtract(bias, chances.sum(0), out=bias)
        return cost

    case = f"training step, {BATCH} csr rows of {FEATURES} features, {CLASSES} classes"
    return [row(case, build, (x_value, y_value), by_hand, options)]


def run(options: Options) -> list[Row]:
    rows: list[Row] = []
    for format in ("csr", "csc"):
        for dtype in ("float32", "float64"):
            rows += structured_dot(format, dtype, options)
    return rows + of_two_sparse(options) + of_one(options) + with_dense(options) + training(options)
