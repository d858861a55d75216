"""Graphs and parameters that `dump` writes, loaded without trust: their values, and the ops that have words."""

from __future__ import annotations

import io
import subprocess
import sys
import unittest
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import theano
import theano.sparse
import theano.tensor as T
from theano.misc.pkl_utils import UnsafeArchiveError, dump, load
from theano_graph import Op
from theano_graph.safe_loading import ClassWord, vocabulary
from theano_testing.tiers import slow


def stored(obj: Any) -> io.BytesIO:
    file = io.BytesIO()
    dump(obj, file)
    file.seek(0)
    return file


def loaded(obj: Any) -> Any:
    return load(stored(obj), safe=True)


def classifier() -> tuple[list[Any], list[Any]]:
    x, y = T.dmatrix("x"), T.ivector("y")
    weights = theano.shared(np.arange(6.0).reshape(3, 2) / 10, name="weights")
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(x, weights)), y).mean()
    return [x, y], [cost, T.grad(cost, weights)]


def loop() -> tuple[list[Any], list[Any]]:
    x = T.dmatrix("x")
    states, _ = theano.scan(lambda row, before: T.tanh(row + 0.5 * before), sequences=x, outputs_info=T.zeros((2,)))
    return [x], [states, T.grad(states[-1].sum(), x)]


def indices() -> tuple[list[Any], list[Any]]:
    x, k = T.dmatrix("x"), T.lvector("k")
    return [x, k], [x[1:, ::-1], x[k, 0], T.set_subtensor(x[0], 5.0), T.inc_subtensor(x[k], 1.0), x[x > 0]]


def reductions() -> tuple[list[Any], list[Any]]:
    x = T.dmatrix("x")
    return [x], [x.max(axis=1), x.std(), T.argmax(x, axis=0), T.cumsum(x, axis=1), x.dimshuffle(1, "x", 0), T.sort(x)]


def convolution() -> tuple[list[Any], list[Any]]:
    x, w = T.dtensor4("x"), T.dtensor4("w")
    pooled = T.signal.pool.pool_2d(T.nnet.conv2d(x, w, border_mode="half"), (2, 2), ignore_border=True)
    return [x, w], [pooled, T.grad(pooled.sum(), w)]


def inner_graph() -> tuple[list[Any], list[Any]]:
    x = T.dvector("x")
    op = theano.OpFromGraph([x], [x**2 + 1])
    return [x], [op(x), theano.ifelse.ifelse(x.sum() > 0, x, -x), T.opt.Assert("positive")(x, x.sum() < 1e9)]


def matrices() -> tuple[list[Any], list[Any]]:
    x = T.dmatrix("x")
    square = T.dot(x, x.T) + T.eye(2) * 5
    return [x], [T.nlinalg.det(square), T.slinalg.cholesky(square), T.nlinalg.matrix_inverse(square)]


_MODE = theano.compile.Mode("py", None)
_RNG = np.random.RandomState(5)
_X = _RNG.normal(size=(2, 3))
CASES: Mapping[str, tuple[Callable[[], Any], list[Any]]] = {
    "classifier": (classifier, [_X, np.array([0, 1], np.int32)]),
    "loop": (loop, [_RNG.normal(size=(4, 2))]),
    "indices": (indices, [_X, np.array([1, 0])]),
    "reductions": (reductions, [_X]),
    "convolution": (convolution, [_RNG.normal(size=(1, 2, 6, 6)), _RNG.normal(size=(3, 2, 3, 3))]),
    "inner_graph": (inner_graph, [_RNG.normal(size=3)]),
    "matrices": (matrices, [_X]),
}


class TestGraphs(unittest.TestCase):
    def test_they_compute_the_same(self) -> None:
        for name, (build, values) in CASES.items():
            with self.subTest(name=name):
                inputs, outputs = build()
                operands, results = loaded((inputs, outputs))
                expected = theano.function(inputs, outputs, mode=_MODE)(*values)
                result = theano.function(operands, results, mode=_MODE)(*values)
                for a, b in zip(result, expected, strict=True):
                    np.testing.assert_array_equal(a, b)
                self.assertEqual(theano.pp(results[0]), theano.pp(outputs[0]))

    def test_sparse_matrices(self) -> None:
        x = theano.sparse.csc_matrix("x")
        weights = theano.shared(scipy.sparse.csr_matrix(np.eye(3)), name="weights")
        product = theano.sparse.dot(x, weights.toarray())
        operands, result, saved = loaded((x, product, weights))
        value = scipy.sparse.csc_matrix(np.arange(6.0).reshape(2, 3))
        outcome, expected = result.eval({operands: value}), product.eval({x: value})
        np.testing.assert_array_equal(getattr(outcome, "toarray", lambda: outcome)(), np.asarray(expected))
        self.assertEqual((saved.get_value() != weights.get_value()).nnz, 0)

    def test_sparse_matrices_with_indices_beyond_their_shape(self) -> None:
        for name, wrong in (("indices", [9, 9, 9]), ("indices", [-1, 0, 1]), ("indptr", [0, 5, 1, 3])):
            matrix = scipy.sparse.csc_matrix(np.eye(3))
            setattr(matrix, name, np.array(wrong, np.int32))
            with self.subTest(name=name, wrong=wrong), self.assertRaisesRegex(UnsafeArchiveError, "indices"):
                load(stored([matrix]), safe=True)

    def test_random_streams(self) -> None:
        streams = T.shared_randomstreams.RandomStreams(7)
        draws = [streams.normal((3,)), streams.permutation(n=4)]
        result = loaded(draws)
        self.assertIs(type(result[0]), type(draws[0]))
        for mine, theirs in zip(result, draws, strict=True):
            np.testing.assert_array_equal(theano.function([], mine)(), theano.function([], theirs)())

    def test_a_long_chain(self) -> None:
        x = y = T.dscalar("x")
        for _ in range(1000):
            y = y + 1
        operands, result = loaded((x, y))
        count = 0
        while result is not operands:
            result, count = result.owner.inputs[0], count + 1
        self.assertEqual(count, 1000)

    def test_under_another_floatx(self) -> None:
        x = T.iscalar("x")
        with theano.config.change_flags(floatX="float32"):
            file = stored((x, T.cast(x / 2, "floatX"), T.exp(T.bvector("b"))))
        self.assertEqual([v.dtype for v in load(file, safe=True)], ["int32", "float32", "float32"])

    def test_modes(self) -> None:
        mode = theano.compile.get_mode("FAST_RUN").excluding("inplace")
        x = T.dmatrix("x")
        sums, _ = theano.scan(lambda row: row.sum(), sequences=x, mode=mode)
        operands, result = loaded((x, sums))
        np.testing.assert_array_equal(theano.function([operands], result)(np.ones((2, 3))), [3.0, 3.0])


class Own(Op):
    __props__ = ("told",)

    def __init__(self, message: Any) -> None:
        self.told = message


class TestOps(unittest.TestCase):
    def refuses(self, obj: Any, words: str) -> None:
        with self.assertRaisesRegex(UnsafeArchiveError, words):
            load(stored(obj), safe=True)

    def test_ops_of_programs(self) -> None:
        x = T.dvector("x")
        self.refuses(Own(1), "Own, which is not loaded")
        double = theano.compile.ops.as_op([T.dvector], [T.dvector])(as_double)
        self.refuses(double(x), "not loaded with safe=True")
        self.refuses(theano.printing.Print("x", global_fn=print_double)(x), "print_double")
        self.refuses(T.io.LoadFromDisk("float64", (False,)), "LoadFromDisk")

    def test_attributes_that_constructors_do_not_make(self) -> None:
        op = T.elemwise.Sum(axis=0)
        for name, value in (
            ("perform", 1),
            ("axis", "0); system("),
            ("axis", 1.5),
            ("view_map", {0: [0]}),
            ("c_code", "x"),
        ):
            changed = T.elemwise.Sum(axis=0)
            vars(changed)[name] = value
            self.refuses([changed], name)
        self.assertEqual(loaded([op]), [op])

    def test_functions_of_numpy_that_are_no_elementwise_ones(self) -> None:
        op = T.elemwise.Elemwise(theano.scalar.exp, nfunc_spec=("save", 2, 1))
        self.refuses([op], "function that is none of NumPy")

    def test_draws_that_are_none(self) -> None:
        op = theano.tensor.raw_random.RandomFunction("normal", T.dvector)
        op.fn = "set_state"
        self.refuses([op], "set_state")

    def test_values_of_printed_attributes(self) -> None:
        self.refuses([theano.printing.Print("x", attrs=["sort"])], "prints attributes")
        self.assertEqual(loaded([theano.printing.Print("x", attrs=["shape"])])[0].attrs, ("shape",))

    @slow
    def test_every_class_of_this_library_has_a_word_or_a_reason(self) -> None:
        words = {str(word) for word in vocabulary() if isinstance(word, ClassWord)}
        # Where this package is imported, classes have the names that programs know.
        script = str(Path(__file__).parent / "safe_loading_classes.py")
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        missing = [name for name in done.stdout.split() if name not in words and not _is_left_out(name)]
        self.assertEqual(missing, [])

    def test_every_word_exists(self) -> None:
        for word in vocabulary():
            if isinstance(word, ClassWord) and word.module.startswith("theano"):
                self.assertIsInstance(word.target, type, str(word))


class TestWork(unittest.TestCase):
    """Work that a small file can cause in its reader."""

    def refuse(self, pickle: bytes) -> None:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as members:
            members.writestr("pkl", pickle)
        with self.assertRaisesRegex(UnsafeArchiveError, "steps"):
            load(io.BytesIO(file.getvalue()), safe=True)

    def test_tuples_hashed_again_and_again(self) -> None:
        nested = b"\x80\x04N" + b"2\x86" * 18 + b"\x940"
        self.refuse(nested + b"\x8f(" + b"h\x00" * 100_000 + b"\x90.")
        self.refuse(nested + b"}(" + b"h\x00N" * 100_000 + b"u.")
        self.refuse(nested + b"(" + b"(h\x00\x91" * 10_000 + b"t.")

    def test_keys_of_one_hash(self) -> None:
        """Integers that leave the same remainder by the number from which hashes of integers are made."""
        keys = b"".join(b"\x8a\x0b" + (k * (2**61 - 1)).to_bytes(11, "little") for k in range(1, 20_000))
        self.refuse(b"\x80\x04\x8f(" + keys + b"\x90.")
        self.refuse(b"\x80\x04(" + keys + b"\x91.")


def as_double(x: Any) -> Any:
    return x * 2


def print_double(op: Any, x: Any) -> None:
    print(op, x * 2)


#: Not loaded: ops that have code of the program's own, read files, talk to processes, stop, or are a base of others;
#: and ops that run on devices, where `device/test_device_archives.py` looks at words.
_LEFT_OUT = (
    "theano_gpuarray.",
    "theano_linker_c.cop.",
    "theano_linker_c.ops.FromFunctionOp",
    "theano_linker_c.ops.PdbBreakpoint",
    "theano_linker_c.runtime._clusters.",
    "theano_scan.device",
    "theano_tensor.device.",
    "theano_tensor.io.",
)
_BASES = (
    "AccumulatingReduce AlongAxis ArgExtremum Arithmetic BaseAbstractConv BinaryBitOp BinaryScalarOp Bitwise "
    "Comparison ComparedGraphOp DiscreteOp FixedLogicalComparison FloatFunction GraphOp HasProgram CompressedOp "
    "ListChange ListOp ListQuestion LogicalReduce MatrixOp PoolingOp RebroadcastCode Rounding ScalarOp ShapeCode "
    "SchurOp ShapeICode SparseOp "
    "SpecialFunction SpecifyShapeCode Tensor UfuncOp UnaryBitOp UnaryScalarOp WholePart"
)


def _is_left_out(name: str) -> bool:
    private = name.rpartition(".")[2]
    return name.startswith(_LEFT_OUT) or private in _BASES.split() or private.startswith("_")
