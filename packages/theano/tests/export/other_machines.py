"""Exported models compiled for other machines: results of a program there, beside those of the functions here.

Run ``python other_machines.py -- aarch64-linux-gnu-gcc -static :: qemu-aarch64``: the words before ``::`` compile, and
those after it run a program. With ``emcc`` and ``node`` it is WebAssembly; with ``clang`` alone it is this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T

_CALLS = 2
#: Without -Wno-..., so that whoever compiles exported files sees no warnings of theirs.
_STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
#: Other libraries of mathematical functions round some results differently.
_TOLERANCE = {"float32": 2e-4, "float64": 1e-9}
_TYPES = {"float64": "double", "float32": "float", "bool": "uint8_t"}


def softmax_regression() -> tuple[Any, list[Any]]:
    """Return a step of training with integers as labels."""
    rng = np.random.default_rng(1)
    x, y = T.dmatrix("x"), T.lvector("y")
    w, b = theano.shared(rng.normal(size=(6, 4)), "w"), theano.shared(np.zeros(4), "b")
    p = T.nnet.softmax(x.dot(w) + b)
    loss = -T.log(p[T.arange(y.shape[0]), y]).mean()
    updates = [(v, v - 0.1 * g) for v, g in zip((w, b), T.grad(loss, [w, b]), strict=True)]
    return theano.function([x, y], [loss, p.argmax(axis=1)], updates=updates), [
        rng.normal(size=(9, 6)),
        rng.integers(0, 4, 9),
    ]


def net() -> tuple[Any, list[Any]]:
    """Return a step of training of a net of single precision."""
    rng = np.random.default_rng(2)
    x, y = T.fmatrix("x"), T.fmatrix("y")
    layers = [theano.shared(rng.normal(size=s).astype("float32") / 3) for s in ((12, 20), (20, 3))]
    result = T.tanh(x.dot(layers[0])).dot(layers[1])
    loss = ((result - y) ** 2).mean()
    updates = [(w, w - np.float32(0.05) * g) for w, g in zip(layers, T.grad(loss, layers), strict=True)]
    return theano.function([x, y], [loss, result], updates=updates), [
        rng.normal(size=(8, 12)).astype("float32"),
        rng.normal(size=(8, 3)).astype("float32"),
    ]


def recurrent_net() -> tuple[Any, list[Any]]:
    """Return the steps of a gated recurrent unit, written out."""
    rng = np.random.default_rng(3)
    x, h = T.dmatrix("x"), T.dvector("h")
    wx, wh = (theano.shared(rng.normal(size=(3, n, 5)) / 2) for n in (4, 5))
    out = h
    for i in range(6):
        z, r = (T.nnet.sigmoid(x[i].dot(wx[k]) + out.dot(wh[k])) for k in (0, 1))
        out = (1 - z) * out + z * T.tanh(x[i].dot(wx[2]) + (r * out).dot(wh[2]))
    return theano.function([x, h], out), [rng.normal(size=(6, 4)), np.zeros(5)]


def arrays() -> tuple[Any, list[Any]]:
    """Return reductions, indexing and integers."""
    rng = np.random.default_rng(4)
    x, i = T.dmatrix("x"), T.ivector("i")
    out = [x[i].sum(axis=0), x.max(axis=1), x[:, ::-2], T.cumsum(x, axis=1), i // 3 - i % 4, x.T.dot(x), (x > 0).any()]
    return theano.function([x, i], out), [rng.normal(size=(5, 7)), np.array([4, 0, -1], "int32")]


MODELS: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
    "softmax_regression": softmax_regression,
    "net": net,
    "recurrent_net": recurrent_net,
    "arrays": arrays,
}


def compare(name: str, compiler: Sequence[str], runner: Sequence[str] = ()) -> None:
    """Export, compile and run one of the models.

    Raises
    ------
    AssertionError
        If results differ, or the program fails.
    """
    fn, values = MODELS[name]()
    inputs = [item.variable for item in fn.maker.inputs if not item.implicit]
    shapes = {x: np.shape(value) for x, value in zip(inputs, values, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        result = theano.export_c(fn, os.path.join(folder, "model"), shapes=shapes, static=True)
        program = os.path.join(folder, "main")
        with open(f"{program}.c", "w", encoding="utf-8") as file:
            file.write(_program(result.description, values))
        command = [*compiler, *_STRICT, "-O2", "-o", program, f"{program}.c", os.path.join(folder, "model.c"), "-lm"]
        subprocess.run(command, check=True, cwd=folder)
        done = subprocess.run([*runner, program], check=True, capture_output=True, text=True, cwd=folder)
    numbers = iter(done.stdout.split())
    for _ in range(_CALLS):
        results = fn(*values)
        for expected in results if isinstance(results, list) else [results]:
            got = np.array([float.fromhex(next(numbers)) for _ in range(expected.size)]).reshape(expected.shape)
            bound = _TOLERANCE.get(expected.dtype.name, 0)
            np.testing.assert_allclose(got, expected, rtol=bound, atol=bound)
    assert next(numbers, None) is None


def _program(description: Mapping[str, Any], values: Sequence[Any]) -> str:
    """Return a program that calls the model and prints all results."""
    operands = ["&state"]
    tables, declared, printed = [], [], []
    for parameter, value in zip(description["arguments"], values, strict=True):
        numbers = ", ".join(float(v).hex() if value.dtype.kind == "f" else str(int(v)) for v in value.ravel())
        tables.append(f"static const {_type(parameter)} in_{parameter['name']}[] = {{{numbers}}};")
        operands.append(f"in_{parameter['name']}")
    for parameter in description["results"]:
        name, size = f"out_{parameter['name']}", int(np.prod(parameter["shape"]))
        declared.append(f"static {_type(parameter)} {name}[{size}];")
        operands.append(name)
        printed.append(f'        for (i = 0; i < {size}; i++) printf("%a\\n", (double){name}[i]);')
    return "\n".join(
        [
            '#include "model.h"',
            *tables,
            *declared,
            "static model_state state;",
            "int main(void) {",
            "    int i, call;",
            "    model_init(&state);",
            f"    for (call = 0; call < {_CALLS}; call++) {{",
            f"        int status = model({', '.join(operands)});",
            '        if (status) { fprintf(stderr, "%s\\n", model_message(status)); return 1; }',
            *printed,
            "    }",
            "    model_free(&state);",
            "    return 0;",
            "}",
            "",
        ]
    )


def _type(parameter: Mapping[str, Any]) -> str:
    return _TYPES.get(parameter["dtype"], f"{parameter['dtype']}_t")


def main(words: Sequence[str]) -> None:
    """Compare all models."""
    words = [word for word in words if word != "--"]
    at = words.index("::") if "::" in words else len(words)
    for name in MODELS:
        compare(name, words[:at], words[at + 1 :])
        print(f"{name}: the same numbers")


if __name__ == "__main__":
    main(sys.argv[1:])
