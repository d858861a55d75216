"""The flag `device`: programs run on the device without a change. Each runs in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from functools import cache

from theano_gpuarray.contexts import DeviceUnavailable, open_context
from theano_testing.tiers import slow

MANUAL = """
from theano import function, config, shared, tensor
import numpy
vlen = 10 * 30
rng = numpy.random.RandomState(22)
x = shared(numpy.asarray(rng.rand(vlen), config.floatX))
f = function([], tensor.exp(x)TRANSFER)
print(f.maker.fgraph.toposort())
r = f()
print("Result is %s %s" % (type(r).__name__, numpy.asarray(r)[:3]))
if numpy.any([isinstance(x.op, tensor.Elemwise) and
              ('Gpu' not in type(x.op).__name__)
              for x in f.maker.fgraph.toposort()]):
    print('Used the cpu')
else:
    print('Used the gpu')
"""

REGRESSION = """
import json
import numpy
import theano
import theano.tensor as T
rng = numpy.random.RandomState(0)
N, feats, training_steps = 40, 20, 10
D = (rng.randn(N, feats), rng.randint(size=N, low=0, high=2))
x = T.dmatrix("x")
y = T.dvector("y")
w = theano.shared(rng.randn(feats), name="w")
b = theano.shared(0., name="b")
p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
prediction = p_1 > 0.5
xent = -y * T.log(p_1) - (1-y) * T.log(1-p_1)
cost = xent.mean() + 0.01 * (w ** 2).sum()
gw, gb = T.grad(cost, [w, b])
train = theano.function(inputs=[x, y], outputs=[prediction, xent, cost], updates=((w, w - 0.1 * gw), (b, b - 0.1 * gb)))
predict = theano.function(inputs=[x], outputs=prediction)
losses = [float(train(D[0], D[1].astype("float64"))[2]) for i in range(training_steps)]
from theano.compile import get_mode
lifted = sum("Gpu" in str(node.op) and "HostFromGpu" not in str(node.op) for node in train.maker.fgraph.toposort())
print(json.dumps([losses, w.get_value().tolist(), float(b.get_value()), predict(D[0]).tolist(), lifted]))
"""


SHARED = """
import numpy, theano
from theano.gpuarray.type import GpuArraySharedVariable
for value, options in ((numpy.zeros(3), {}), (numpy.zeros(3, "int8"), {}), (numpy.zeros(3), {"target": "cpu"}),
                       (numpy.zeros(3, "complex64"), {}), (numpy.float64(3), {}), (3.0, {})):
    print(isinstance(theano.shared(value, **options), GpuArraySharedVariable))
"""

ARGUMENTS = """
import theano, theano.tensor as T
a, b = T.dvector("a"), T.dvector("b")
a.tag.target = "cpu"
for v in (a, b):
    print(theano.function([v], T.exp(v)).maker.fgraph.toposort()[0])
print(theano.function([b], T.exp(b), mode="FAST_COMPILE").maker.fgraph.toposort()[0])
with theano.config.change_flags(optimizer="fast_compile"):
    print(theano.function([b], T.exp(b)).maker.fgraph.toposort()[0])
"""

PICKLES = """
import numpy, pickle, theano, theano.tensor as T
x = theano.shared(numpy.arange(3.0), name="x")
f = theano.function([], [x * 2], updates=[(x, x + 1)])
again = pickle.loads(pickle.dumps(f))
ops = [[str(n.op) for n in g.maker.fgraph.toposort()] for g in (f, again)]
print(again()[0].shape, ops[0] == ops[1])
print(type(pickle.loads(pickle.dumps(x))).__name__)
"""

LOADED = "import sys, theano; print(sorted(m for m in sys.modules if 'gpuarray' in m or 'tensor.device' in m))"

GRAPHS = """
import theano, theano.tensor as T
x, w = T.dmatrix("x"), theano.shared(__import__("numpy").zeros((3, 3)), name="w")
print(theano.printing.debugprint(theano.function([x], [T.nnet.softmax(T.dot(x, w)), x.sum(axis=0)]), file="str"))
"""

ON_HOST = {
    "loaded": LOADED,
    "graphs": GRAPHS,
    "manual": MANUAL.replace("TRANSFER", ""),
    "regression": REGRESSION,
    "graphs with names": "import theano.gpuarray" + GRAPHS,
}
ON_DEVICE = {
    "manual": MANUAL.replace("TRANSFER", ""),
    "manual, left there": MANUAL.replace("TRANSFER", ".transfer(None)"),
    "regression": REGRESSION,
    "shared": SHARED,
    "arguments": ARGUMENTS,
    "pickles": PICKLES,
}
#: Runs programs one after the other.
RUN_ALL = """
import json, sys
for name, program in json.loads(sys.argv[1]).items():
    print("PROGRAM", name)
    exec(compile(program, name, "exec"), {"__name__": name})
"""


@cache
def device() -> str:
    """Return a device that computes, or the one that only counts."""
    try:
        return open_context("opencl").devname
    except DeviceUnavailable:
        return "null0"


def run(program: str, flags: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name not in ("THEANO_FLAGS", "THEANORC")}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(
        command, env=environ | {"THEANO_FLAGS": flags}, capture_output=True, text=True, timeout=600, check=False
    )


@cache
def outputs(on_device: bool) -> dict[str, list[str]]:
    """Return the lines that programs print, by name; one process runs them all."""
    programs = ON_DEVICE if on_device else ON_HOST
    done = run(RUN_ALL, f"device={device() if on_device else 'cpu'}", json.dumps(programs))
    assert done.returncode == 0, done.stderr
    texts = [text.splitlines() for text in done.stdout.split("PROGRAM ")[1:]]
    assert [lines[0] for lines in texts] == list(programs), done.stdout
    return {lines[0]: lines[1:] for lines in texts}


@slow
class TestPrograms(unittest.TestCase):
    def output(self, program: str, flags: str) -> list[str]:
        done = run(program, flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_the_program_of_the_manual(self) -> None:
        on_host = outputs(on_device=False)["manual"]
        self.assertEqual(on_host[0], "[Elemwise{exp,no_inplace}(<TensorType(float64, vector)>)]")
        self.assertEqual(on_host[-1], "Used the cpu")
        there = outputs(on_device=True)["manual"]
        self.assertEqual(
            there[0],
            "[GpuElemwise{exp,no_inplace}(<GpuArrayType<None>(float64, (False,))>), "
            "HostFromGpu(gpuarray)(GpuElemwise{exp,no_inplace}.0)]",
        )
        self.assertEqual(there[-1], "Used the gpu")
        self.assertTrue(there[1].startswith("Result is ndarray "))
        if device() != "null0":
            self.assertEqual(there[1], on_host[1])

    def test_a_result_that_stays_on_the_device(self) -> None:
        there = outputs(on_device=True)["manual, left there"]
        self.assertEqual(there[0], "[GpuElemwise{exp,no_inplace}(<GpuArrayType<None>(float64, (False,))>)]")
        self.assertTrue(there[1].startswith("Result is GpuArray "))

    def test_logistic_regression(self) -> None:
        losses, w, b, predicted, lifted = json.loads(outputs(on_device=False)["regression"][-1])
        self.assertEqual(lifted, 0)
        self.assertLess(losses[-1], losses[0])
        result = json.loads(outputs(on_device=True)["regression"][-1])
        self.assertGreater(result[-1], 5)
        if device() == "null0":
            return
        for mine, theirs in zip((*result[0], *result[1], result[2]), (*losses, *w, b), strict=True):
            self.assertAlmostEqual(mine, theirs, delta=1e-9 * max(1, abs(theirs)))
        self.assertEqual(result[3], predicted)

    def test_what_is_shared(self) -> None:
        self.assertEqual(outputs(on_device=True)["shared"], ["True", "True", *["False"] * 4])

    def test_a_prepared_device_is_not_used_by_default(self) -> None:
        program = """
import numpy, theano, theano.tensor as T
x = theano.shared(numpy.zeros(3))
print(type(x).__name__, theano.function([], T.exp(x)).maker.fgraph.toposort()[0].op)
print(theano.gpuarray.type.list_contexts(), T.dvector("v").transfer(None).owner)
"""
        lines = self.output(program, f"init_gpu_device={device()}")
        self.assertEqual(lines[0], "TensorSharedVariable Elemwise{exp,no_inplace}")
        self.assertEqual(lines[1], "[None] GpuFromHost<None>(v)")

    def test_arguments_may_stay_on_the_host(self) -> None:
        self.assertEqual(
            outputs(on_device=True)["arguments"],
            [
                "Elemwise{exp,no_inplace}(a)",
                "GpuFromHost<None>(b)",
                "Elemwise{exp,no_inplace}(b)",
                "GpuFromHost<None>(b)",
            ],
        )

    def test_contexts_by_name(self) -> None:
        program = """
import numpy, theano
v01 = theano.shared(numpy.random.random((8, 8)).astype("float32"), target="dev0")
v02 = theano.shared(numpy.random.random((8, 8)).astype("float32"), target="dev0")
v11 = theano.shared(numpy.random.random((8, 8)).astype("float32"), target="dev1")
v12 = theano.shared(numpy.random.random((8, 8)).astype("float32"), target="dev1")
f = theano.function([], [theano.tensor.dot(v01, v02), theano.tensor.dot(v11, v12)])
a, b = f()
print(a.shape, sorted(str(n.outputs[0].type) for n in f.maker.fgraph.toposort() if "Gpu" in type(n.op).__name__[:3]))
"""
        done = run(program, f"contexts=dev0->{device()};dev1->null0")
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds = [f"GpuArrayType<dev{k}>(float32, (False, False))" for k in (0, 1)]
        self.assertEqual(done.stdout.strip(), f"(8, 8) {kinds}")
        self.assertEqual(
            [line.split(":")[0] for line in done.stderr.splitlines() if line.startswith("Mapped")],
            [f"Mapped name dev0 to device {device().partition(':')[0]}", "Mapped name dev1 to device null0"],
        )

    def test_pickles(self) -> None:
        self.assertEqual(outputs(on_device=True)["pickles"], ["(3,) True", "GpuArraySharedVariable"])


@slow
class TestNames(unittest.TestCase):
    def test_import_without_a_device_loads_flags_alone(self) -> None:
        (line,) = outputs(on_device=False)["loaded"]
        self.assertEqual(
            line,
            "['theano_gpuarray', 'theano_gpuarray._flags', 'theano_gpuarray._version', 'theano_gpuarray.dnn_flags']",
        )

    def test_graphs_of_the_host_stay_as_they_are(self) -> None:
        plain, with_names = (outputs(on_device=False)[name] for name in ("graphs", "graphs with names"))
        self.assertGreater(len(plain), 3)
        self.assertEqual(plain, with_names)


if __name__ == "__main__":
    unittest.main()
