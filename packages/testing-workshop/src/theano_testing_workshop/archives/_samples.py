"""Archives that are right: of every kind of thing that is loaded safely."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse

import theano_scan
import theano_sparse
import theano_tensor as tt
from theano_graph import config
from theano_linker_c import shared
from theano_linker_c.archive import UnsafeArchiveError, dump, load
from theano_tensor.builders import OpFromGraph
from theano_tensor.gradient import grad
from theano_tensor.random import RandomStreams

from ..fuzz import Grammar, generate
from ..fuzz._programs._program import Unbuildable, build

#: Only small ones: a change in a large one is rarely where it matters.
_LARGEST = 8_000


def _values() -> Any:
    return [
        {"learning rate": 0.5, "sizes": (3, 4), "names": ["a", "b"], 1: {2, 3}, None: frozenset({True})},
        [1 << 70, -1, 1.5, 1j, b"bytes", "text", bytearray(b"c"), slice(1, 2), range(3), ValueError, np.float32],
        [np.float64(2.5), np.int8(3), np.bool_(True), np.str_("x"), np.datetime64("2020-01-02"), np.dtype(">f4")],
        np.dtype([("a", "i4"), ("b", "f8")]),
    ]


def _arrays() -> Any:
    return [np.arange(6.0).reshape(2, 3), np.array([True, False]), np.array(["a", "bc"]), np.zeros(2, "i2, f4")]


def _parameters() -> Any:
    return {name: shared(np.ones((2, 3), dtype), name=name) for name, dtype in (("w", "float64"), ("b", "float32"))}


def _generators() -> Any:
    return [np.random.RandomState(1), np.random.default_rng(2), np.random.Generator(np.random.Philox(3))]


def _streams() -> Any:
    streams = RandomStreams(5)
    return [streams.normal((2,)), streams.permutation(n=3)]


def _loop() -> Any:
    x = tt.dmatrix("x")
    states, _ = theano_scan.scan(lambda row, before: row + 0.5 * before, sequences=x, outputs_info=tt.zeros((2,)))
    return [x, states]


def _sparse() -> Any:
    x = theano_sparse.csc_matrix("x")
    return [x, theano_sparse.structured_dot(x, tt.dmatrix("y")), shared(scipy.sparse.csr_matrix(np.eye(3)), name="s")]


def _inner_graph() -> Any:
    x = tt.dvector("x")
    return OpFromGraph([x], [x**2 + 1])(x)


def _gradient() -> Any:
    x, w = tt.dmatrix("x"), shared(np.ones((3, 2)), name="w")
    y = tt.tanh(tt.dot(x, w))
    return [x, w, y[1:, ::2], grad(y.sum(), w)]


_MAKERS: tuple[Callable[[], Any], ...] = (
    _values,
    _arrays,
    _parameters,
    _generators,
    _streams,
    _loop,
    _sparse,
    _inner_graph,
    _gradient,
)


def _objects(graphs: int) -> Iterator[Any]:
    for make in _MAKERS:
        yield make()
    operations = Grammar().operations
    # Where nodes were made is said by the samples above; here it would be most of the text.
    with config.change_flags(traceback__limit=0):
        for seed in range(graphs):
            try:
                yield list(build(generate(seed, operations, nodes=2)).outputs)
            except Unbuildable:
                continue


def _is_loaded(file: io.BytesIO) -> bool:
    """Tell whether a random graph has no ops of the fuzzer's own."""
    try:
        load(file, safe=True)
    except UnsafeArchiveError:
        return False
    return True


def samples(graphs: int = 30) -> list[bytes]:
    """Return archives of values, parameters and graphs, some of which are random.

    Parameters
    ----------
    graphs : int
        How many random graphs to try.
    """
    found = []
    for number, thing in enumerate(_objects(graphs)):
        file = io.BytesIO()
        dump(thing, file, protocol=(5, 4, 2)[number % 3])
        if len(file.getvalue()) <= _LARGEST and (number < len(_MAKERS) or _is_loaded(file)):
            found.append(file.getvalue())
    return found
