"""Messages as graphs: their types, their order, and wrong input. No other process is needed for this."""

from __future__ import annotations

import pickle
import sys
import unittest
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # the order of messages is a rewrite
from theano_graph import Apply, FunctionGraph, Generic, ancestors
from theano_linker_c import Mode, function
from theano_tensor import io
from theano_tensor._lazy import mpi
from theano_tensor.control import ifelse
from theano_tensor.gradient import DisconnectedInputError, Rop, grad
from theano_tensor.io._collective import MessageOrder
from theano_testing.gaps import record_absence

for _class in (io.MPISend, io.MPISendWait, io.MPIRecv, io.MPIRecvWait):
    record_absence.declare_absent(_class, "it needs another process; test_io_processes runs two")
for _collective in (io.MPIAllReduce, io.MPIBroadcast, io.MPIReduce):
    record_absence.declare_absent(_collective, "it needs other processes; test_io_processes runs two")


def names(f: Any) -> list[str]:
    """Return the nodes of a function, in its order."""
    return [type(node.op).__name__ + str(getattr(node.op, "tag", "")) for node in f.maker.fgraph.toposort()]


class TestGraphs(unittest.TestCase):
    def test_documented_steps(self) -> None:
        x = tt.dmatrix("x")
        request, array = io.isend(x, 1, 3)
        self.assertIsInstance(request.type, Generic)
        self.assertEqual(array.type, x.type)
        self.assertIsInstance(request.owner.op, io.MPISend)
        done: Any = io.send(x, 1, 3)
        self.assertIsInstance(done.owner.op, io.MPISendWait)
        _, expected = io.irecv((2, 3), "float32", 1, 3)
        self.assertEqual(expected.type, tt.TensorType("float32", (2, 3)))
        self.assertEqual(io.recv((2, 1), "float32", 1, 3).type.broadcastable, (False, True))

    def test_attributes(self) -> None:
        op = io.MPIRecv(1, 3, (2, 3), "float32")
        self.assertEqual((op.source, op.tag, op.shape, op.dtype), (1, 3, (2, 3), "float32"))
        self.assertEqual((io.MPISend(1, 3).dest, io.MPISendWait(4).tag, io.MPIRecvWait(5).tag), (1, 4, 5))
        self.assertEqual(str(op), "MPIRecv{source: 1, tag: 3}")

    def test_nothing_is_differentiated_through_messages(self) -> None:
        x = tt.dvector("x")
        with self.assertRaises(DisconnectedInputError):
            grad(io.isend(x, 1, 3)[1].sum(), x)

    def test_only_sums_over_processes_are_differentiated(self) -> None:
        x, v = tt.dvectors("x", "v")
        with self.assertRaisesRegex(TypeError, "only sums"):
            grad(io.allreduce(x, "max").sum(), x)
        for output in (io.allreduce(x), io.broadcast(x, 1, 2), io.reduce(x, 1)):
            tangent: Any = Rop(output, x, v)
            self.assertEqual(tangent.owner.op, output.owner.op)
            self.assertIn(v, ancestors([tangent]))

    def test_shapes_need_no_messages(self) -> None:
        x = tt.dmatrix("x")
        outputs: list[Any] = [io.allreduce(x), io.broadcast(x), io.reduce(x), io.isend(x, 1, 2)[1]]
        for output in outputs:
            f = function([x], output.shape[0])
            self.assertFalse([name for name in names(f) if name.startswith("MPI")])
            self.assertEqual(f(np.ones((2, 3))), 2)
        received = function([], io.recv((4, 3), "float64", 0, 1).shape)
        np.testing.assert_array_equal(received(), [4, 3])

    def test_graphs_with_messages_are_pickled(self) -> None:
        x = tt.dvector("x")
        f = pickle.loads(pickle.dumps(function([x], [io.send(x, 1, 2), io.recv((2,), "float64", 1, 1)])))
        self.assertEqual(names(f)[:2], ["MPIRecv1", "MPISend2"])


class TestOrder(unittest.TestCase):
    def test_documented_keys(self) -> None:
        x = tt.dvector("x")
        nodes: list[Any] = [io.isend(x, 1, 5)[0].owner, io.irecv((2,), "int8", 1, 6)[0].owner]
        nodes += [io.send(x, 1, 7).owner, io.recv((2,), "int8", 1, 8).owner, (x + 1).owner]
        self.assertEqual([io.mpi_send_wait_key(node) for node in nodes], [-1, -1, 1, 1, 0])
        self.assertEqual([io.mpi_tag_key(node) for node in nodes], [5, 6, 7, 8, 0])
        self.assertEqual(io.mpi_keys, (io.mpi_send_wait_key, io.mpi_tag_key))
        self.assertEqual(io.mpi_send_wait_key(io.allreduce(x, tag=4).owner), 1)
        self.assertEqual(io.mpi_tag_key(io.allreduce(x, tag=4).owner), 4)

    def test_starts_first_and_waits_last(self) -> None:
        x = tt.dmatrix("x")
        outputs = [io.recv((2,), "float64", 1, 1), tt.dot(x, x), io.send(tt.exp(x), 1, 2)]
        for mode in ("FAST_RUN", "FAST_COMPILE", Mode("py", "fast_run")):
            for operands in (outputs, outputs[::-1]):
                result = names(function([x], operands, mode=mode))
                with self.subTest(mode=str(mode)):
                    self.assertEqual(result[0], "MPIRecv1")
                    self.assertEqual(result[2], "MPISend2")
                    self.assertEqual(result[4:], ["MPIRecvWait1", "MPISendWait2"])

    def test_lower_tags_first(self) -> None:
        x = tt.dvector("x")
        tags = [5, 2, 9, 0]
        result = names(function([x], [io.allreduce(x, tag=tag) for tag in tags]))
        self.assertEqual(result, [f"MPIAllReduce{tag}" for tag in sorted(tags)])
        result = names(function([x], [io.send(x, 1, tag) for tag in tags]))
        steps = [f"MPISend{tag}" for tag in sorted(tags)] + [f"MPISendWait{tag}" for tag in sorted(tags)]
        self.assertEqual(result, steps)

    def test_data_come_before_tags(self) -> None:
        x = tt.dvector("x")
        result = names(function([x], io.allreduce(io.allreduce(x, tag=7), tag=3)))
        self.assertEqual(result, ["MPIAllReduce7", "MPIAllReduce3"])

    def test_what_is_left_out_is_not_asked_for(self) -> None:
        c, x = tt.iscalar("c"), tt.dvector("x")
        f = function([c, x], ifelse(c, io.allreduce(x) + tt.exp(x), x))
        np.testing.assert_array_equal(f(0, np.ones(2)), [1, 1])

    def test_graphs_without_messages_are_left_alone(self) -> None:
        x = tt.dvector("x")
        plain: Any = function([x], x + 1)
        self.assertFalse([v for v in plain.maker.fgraph.features if isinstance(v, MessageOrder)])
        self.assertEqual(MessageOrder().orderings(FunctionGraph([x], [x + 1])), {})

    def test_other_orderings_are_kept(self) -> None:
        x = tt.dvector("x")
        first, second = io.allreduce(x, tag=2), io.allreduce(x, tag=1)
        graph = FunctionGraph([x], [first, second], clone=False)

        class Reversed(MessageOrder):
            def orderings(self, fgraph: FunctionGraph) -> dict[Apply, list[Apply]]:
                return {second.owner: [first.owner]}

        graph.attach_feature(Reversed())
        graph.attach_feature(MessageOrder())
        self.assertEqual(graph.toposort(), [first.owner, second.owner])


class TestBadInput(unittest.TestCase):
    def test_ranks_and_tags(self) -> None:
        x = tt.dvector("x")
        calls: list[Any] = [
            lambda n: io.send(x, n, 1),
            lambda n: io.send(x, 1, n),
            lambda n: io.recv((2,), "int8", n, 1),
            lambda n: io.recv((2,), "int8", 1, n),
            lambda n: io.recv((2, n), "int8", 1, 1),
            lambda n: io.MPISendWait(n),
            lambda n: io.allreduce(x, tag=n),
            lambda n: io.broadcast(x, root=n),
            lambda n: io.reduce(x, root=n),
        ]
        for i, call in enumerate(calls):
            with self.subTest(call=i):
                for wrong in (1.0, "1", None, True):
                    self.assertRaisesRegex(TypeError, "whole number", call, wrong)
                self.assertRaisesRegex(ValueError, "from 0 on", call, -1)

    def test_waits_for_something_else(self) -> None:
        x = tt.dvector("x")
        for wait in (io.MPISendWait(1), io.MPIRecvWait(1)):
            with self.assertRaisesRegex(TypeError, "isend or irecv"):
                wait(x, x)

    def test_what_cannot_be_combined(self) -> None:
        with self.assertRaisesRegex(ValueError, "sum, prod, max, min"):
            io.allreduce(tt.dvector("x"), "mean")
        for dtype in ("bool", "float16"):
            with self.assertRaisesRegex(TypeError, dtype):
                io.allreduce(tt.TensorType(dtype, (None,))("x"))

    def test_without_mpi4py(self) -> None:
        mpi.cache_clear()
        self.addCleanup(mpi.cache_clear)
        x = tt.dvector("x")
        f = function([x], [io.send(x, 0, 1), io.allreduce(x)])
        absent = mock.patch.dict(sys.modules, {"mpi4py": None, "mpi4py.MPI": None})
        with absent, self.assertRaisesRegex(ImportError, r"pip install 'theano-stack\[mpi\]'"):
            f(np.ones(2))
