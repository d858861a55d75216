"""Exported C beside the same functions called from Python: nets, a recurrent net, a hierarchical density.

C is compiled by gcc with ``-O3``, then for this very processor, then with products by CBLAS (where ``cblas.h`` is
installed). It is called by a loop in C, as programs in C call it: ctypes takes a microsecond or two for a call. The
density, which takes a few microseconds, is called a hundred times. CasADi's C is that of the density, differentiated
there, compiled as the second one.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import hierarchical
import mlp
import numpy
from harness import OURS, Options, Row, compare, peer

C, NATIVE, CBLAS, CASADI = "exported C", "C, -march=native", "C with CBLAS", "casadi's C"
_FLAGS = ("-O3", "-shared", "-fPIC")
_OWN = ("-march=native",)
#: Arguments for the compiler, and libraries.
_WAYS = {C: ((), ()), NATIVE: (_OWN, ()), CBLAS: ((*_OWN, "-DTHEANO_CBLAS"), ("-lopenblas",))}
_FEATURES, _UNITS, _STEPS = 32, 64, 20
_PROTOTYPE = re.compile(r"^int model\((.*?)\);", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(\w+)(?:\[\d+\])?$")


def compiled(
    sources: Sequence[str], output: str, flags: Sequence[str] = (), libraries: Sequence[str] = ()
) -> ctypes.CDLL:
    """Compile files of C and load them."""
    command = ["gcc", *_FLAGS, *flags, "-o", output, *sources, *libraries, "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(output)


def exported(fn: Any, values: Sequence[Any], count: int = 1) -> dict[str, Callable[[], object] | None]:
    """Return loops of so many calls of the exported function with these values, None where it cannot be compiled so."""
    import theano

    inputs = [item.variable for item in fn.maker.inputs if not item.implicit]
    shapes = {x: numpy.shape(value) for x, value in zip(inputs, values, strict=True)}
    calls: dict[str, Callable[[], object] | None] = {}
    shared = fn.get_shared()
    first = [variable.get_value() for variable in shared]
    with tempfile.TemporaryDirectory() as folder:
        stem = os.path.join(folder, "model")
        try:
            # Tables of a million numbers take compilers long: the values are put into the state here.
            for variable, value in zip(shared, first, strict=True):
                variable.set_value(numpy.zeros_like(value))
            description = theano.export_c(fn, stem, shapes=shapes, static=True).description
        finally:
            for variable, value in zip(shared, first, strict=True):
                variable.set_value(value)
        with open(f"{stem}_state.c", "w", encoding="utf-8") as file:
            file.write(_state_source([parameter["name"] for parameter in description["state"]]))
            with open(f"{stem}.h", encoding="utf-8") as header:
                file.write(_loop_source(header.read()))
        for number, (way, (flags, libraries)) in enumerate(_WAYS.items()):
            try:
                library = compiled([f"{stem}.c", f"{stem}_state.c"], f"{stem}_{number}.so", flags, libraries)
            except subprocess.CalledProcessError:
                if way != CBLAS:
                    raise
                calls[way] = None
                continue
            calls[way] = _bound(library, description, first, values, count)
    return calls


def _state_source(names: Sequence[str]) -> str:
    """Return C functions that tell how long the state is, and where its variables are."""
    places = "".join(f"    if (k == {k}) return (void *)state->{name};\n" for k, name in enumerate(names))
    return (
        '#include "model.h"\nlong long model_size(void) { return (long long)sizeof(model_state); }\n'
        f"void *model_place(model_state *state, int k) {{\n{places}    return NULL;\n}}\n"
    )


def _loop_source(header: str) -> str:
    """Return a C function that calls the one of the header so many times."""
    prototype = _PROTOTYPE.search(header)
    if prototype is None:
        raise RuntimeError("the header declares no function")
    names = [match.group(1) for part in prototype.group(1).split(",") if (match := _NAME.search(part.strip()))]
    return (
        f"int model_calls(int count, {prototype.group(1)}) {{\n    int status = 0;\n"
        f"    while (count-- > 0 && status == 0)\n        status = model({', '.join(names)});\n    return status;\n}}\n"
    )


def _bound(
    library: ctypes.CDLL, description: Any, first: Sequence[Any], values: Sequence[Any], count: int
) -> Callable[[], object]:
    """Return calls with these values of shared variables and inputs; its arrays live as long as the function."""
    library.model_size.restype = ctypes.c_longlong
    state = numpy.zeros(library.model_size() // 8 + 8, "float64")
    library.model_init(ctypes.c_void_p(state.ctypes.data))
    library.model_place.restype = ctypes.c_void_p
    for k, (parameter, value) in enumerate(zip(description["state"], first, strict=True)):
        array = numpy.asarray(value, parameter["dtype"], order="C")
        address = library.model_place(ctypes.c_void_p(state.ctypes.data), ctypes.c_int(k))
        ctypes.memmove(address, array.ctypes.data, array.nbytes)
    arguments: list[Any] = [ctypes.c_int(count), ctypes.c_void_p(state.ctypes.data)]
    references: list[Any] = [state, library]
    for parameter, value in zip(description["arguments"], values, strict=True):
        array = numpy.asarray(value, parameter["dtype"], order="C")
        references.append(array)
        number = numpy.ctypeslib.as_ctypes_type(array.dtype)
        arguments.append(ctypes.c_void_p(array.ctypes.data) if parameter["shape"] else number(array.item()))
    for parameter in description["results"]:
        references.append(numpy.zeros(parameter["shape"], parameter["dtype"]))
        arguments.append(ctypes.c_void_p(references[-1].ctypes.data))
    library.model_calls.argtypes = [type(argument) for argument in arguments]
    return partial(_call, library.model_calls, arguments, references)


def _call(function: Any, arguments: Sequence[Any], saved: Sequence[Any]) -> Any:
    if function(*arguments):
        raise RuntimeError("the call failed")
    return saved[-1]


def prediction(count: int) -> tuple[Any, list[Any]]:
    """Return the prediction of the net of `mlp`, for so many examples."""
    import theano
    import theano.tensor as T

    x = T.fmatrix("x")
    parameters = [theano.shared(value) for value in mlp.first_values()]
    h = x
    for k in range(0, len(parameters) - 2, 2):
        h = T.tanh(T.dot(h, parameters[k]) + parameters[k + 1])
    return theano.function([x], T.nnet.softmax(T.dot(h, parameters[-2]) + parameters[-1])), [mlp.data()[0][:count]]


def convolutional_step() -> tuple[Any, list[Any]]:
    """Return a step of training of LeNet, with 64 images."""
    import theano
    import theano.tensor as T
    from theano.tensor.signal.pool import pool_2d

    rng = numpy.random.default_rng(4)
    x, y = T.ftensor4("x"), T.ivector("y")
    shapes = (20, 1, 5, 5), (50, 20, 5, 5), (800, 500), (500, 10)
    weights = [theano.shared((rng.normal(size=shape) / 10).astype("float32")) for shape in shapes]
    h = x
    for filters in weights[:2]:
        h = pool_2d(T.nnet.relu(T.nnet.conv2d(h, filters)), (2, 2), ignore_border=True)
    p = T.nnet.softmax(T.tanh(h.flatten(2).dot(weights[2])).dot(weights[3]))
    cost = T.nnet.categorical_crossentropy(p, y).mean()
    rate = numpy.float32(0.01)
    updates = [(w, w - rate * g) for w, g in zip(weights, T.grad(cost, weights), strict=True)]
    images = rng.normal(size=(64, 1, 28, 28)).astype("float32")
    return theano.function([x, y], cost, updates=updates), [images, rng.integers(0, 10, 64).astype("int32")]


def recurrent_net() -> tuple[Any, list[Any]]:
    """Return a gated recurrent unit over a sequence, its steps written out."""
    import theano
    import theano.tensor as T

    rng = numpy.random.default_rng(3)
    x, h = T.dmatrix("x"), T.dvector("h")
    by_input = [theano.shared(rng.normal(size=(_FEATURES, _UNITS)) / 8) for _ in range(3)]
    by_state = [theano.shared(rng.normal(size=(_UNITS, _UNITS)) / 8) for _ in range(3)]
    parts = [x.dot(w) for w in by_input]
    out = h
    for i in range(_STEPS):
        z, r = (T.nnet.sigmoid(parts[k][i] + out.dot(by_state[k])) for k in (0, 1))
        out = (1 - z) * out + z * T.tanh(parts[2][i] + (r * out).dot(by_state[2]))
    return theano.function([x, h], out), [rng.normal(size=(_STEPS, _FEATURES)), numpy.zeros(_UNITS)]


class _CasadiFunctions:
    """The functions of `hierarchical.log_density` on arrays of CasADi's scalars."""

    def __init__(self, casadi: Any) -> None:
        self._casadi = casadi

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        function = getattr(self._casadi, name)

        def each(x: Any) -> Any:
            return numpy.array([function(v) for v in x], object) if isinstance(x, numpy.ndarray) else function(x)

        return each


#: Calls CasADi's function so many times.
_CASADI_LOOP = """
int density_calls(int count, const double **arg, double **res, casadi_int *iw, double *w, int mem) {
    int status = 0;
    while (count-- > 0 && status == 0)
        status = density(arg, res, iw, w, mem);
    return status;
}
"""


def casadi_density(count: int = 1) -> Callable[[], object]:
    """Return so many calls of CasADi's C for the hierarchical density and its gradient."""
    casadi: Any = peer("casadi")
    symbols = [casadi.SX.sym(f"v{k}", max(numpy.size(v), 1)) for k, v in enumerate(hierarchical.point())]
    # Arrays of scalars, numbers too: NumPy's rules of broadcasting hold for these.
    arrays = [numpy.array([s[i] for i in range(s.numel())], object) for s in symbols]
    cost = hierarchical.log_density(_CasadiFunctions(casadi), *arrays)[0]
    function = casadi.Function("density", symbols, [cost, *(casadi.gradient(cost, s) for s in symbols)])
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            source = function.generate("density.c")
            with open(source, "a", encoding="utf-8") as file:
                file.write(_CASADI_LOOP)
            library = compiled([source], os.path.join(folder, "density.so"), _OWN)
        finally:
            os.chdir(before)
    values = [numpy.atleast_1d(numpy.asarray(v, "float64")) for v in hierarchical.point()]
    results = [numpy.zeros(1), *(numpy.zeros(v.size) for v in values)]
    pointers = [(ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays)) for arrays in (values, results)]
    work = numpy.zeros(function.sz_w() + 1)
    arguments = [
        ctypes.c_int(count),
        *pointers,
        ctypes.c_void_p(),
        ctypes.c_void_p(work.ctypes.data),
        ctypes.c_int(0),
    ]
    return partial(_call, library.density_calls, arguments, [values, work, pointers, results])


def _repeated(call: Callable[[], object], count: int) -> Callable[[], object]:
    def calls() -> None:
        for _ in repeat(None, count):
            call()

    return calls if count > 1 else call


def run(options: Options) -> list[Row]:
    """Measure a call of each."""
    if shutil.which("gcc") is None:
        return [Row("exported C", {OURS: "there is no gcc"})]
    density = (hierarchical.symbolic("theano", None), hierarchical.point())
    cases = {
        "prediction of a perceptron 784-512-512-10, one example": prediction(1),
        "the same, 128 examples": prediction(128),
        "a training step of that perceptron": (mlp.symbolic_step("theano", None), list(mlp.data())),
        "a training step of LeNet, 64 images": convolutional_step(),
        f"a gated recurrent unit, {_STEPS} steps of {_UNITS} units": recurrent_net(),
        "100 calls of a hierarchical density and its gradient": density,
    }
    rows = []
    for case, (fn, values) in cases.items():
        count = 100 if fn is density[0] else 1
        contenders: dict[str, Callable[[], object] | None] = {
            OURS: _repeated(partial(fn, *values), count),
            **exported(fn, values, count),
        }
        if fn is density[0]:
            contenders[CASADI] = None if peer("casadi") is None else casadi_density(count)
        rows.append(Row(f"{case}: called from Python, and exported", compare(contenders, options)))
    return rows
