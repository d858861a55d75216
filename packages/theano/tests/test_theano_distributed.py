"""`theano.distributed` where nothing is installed for it: pools, and threads in the place of processes.

Dask and MPI themselves are tested in tools/cluster.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import unittest
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano import distributed
from theano.distributed._gradients import Mean, cut, mean_of_means
from theano.distributed._packing import pack
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams
from theano_tensor.random import GeneratorStreams
from theano_testing.tiers import slow


def chain(step: Callable[[], Any], start: Callable[[float], Any], value: float) -> float:
    """Walk three steps from a value; the state between steps is in a shared variable."""
    start(value)
    for _ in range(3):
        last = step()
    return float(last)


class Once:
    """Counts how often it is unpickled."""

    count = 0

    def __init__(self, f: Any) -> None:
        self.f = f

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).count += 1
        vars(self).update(state)

    def __call__(self, x: float) -> float:
        return float(self.f(x))


class NoPickle(theano.Op):
    __props__ = ()

    def __init__(self) -> None:
        self.file = threading.Lock()

    def make_node(self, x: Any) -> Any:
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0]

    def __str__(self) -> str:
        return "NoPickle"


class BadError(Exception):
    """An error that cannot be made again from its pickle."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def complain(x: float) -> float:
    raise BadError(1, 2)


def square() -> Any:
    x = T.dscalar("x")
    return theano.function([x], x**2)


class TestMap(unittest.TestCase):
    def over_threads(self, f: Callable[..., Any], xs: Any, workers: int = 2, **options: Any) -> list[Any]:
        with ThreadPoolExecutor(workers) as pool:
            return distributed.map(f, xs, pool, **options)

    def test_results_are_in_order(self) -> None:
        for size in (None, 1, 3, 100):
            result = self.over_threads(square(), range(10), chunksize=size)
            self.assertEqual([float(v) for v in result], [float(i**2) for i in range(10)])
        self.assertEqual(self.over_threads(square(), []), [])

    def test_tuples_are_arguments_and_dictionaries_keywords(self) -> None:
        x, y = T.dscalars("x", "y")
        f = theano.function([x, y], x - y)
        result = self.over_threads(f, [(3.0, 1.0), {"y": 3.0, "x": 1.0}])
        self.assertEqual([float(v) for v in result], [2.0, -2.0])

    @slow
    def test_another_process_unpickles_and_computes(self) -> None:
        w, x = theano.shared(np.arange(3.0), name="w"), T.dvector("x")
        f = theano.function([x], T.exp(x * w).sum())
        values = [np.full(3, 0.1 * i) for i in range(5)]
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            result = distributed.map(f, values, pool)
            again = pool.submit(f, values[1]).result()
        np.testing.assert_allclose(result, [np.exp(v * np.arange(3)).sum() for v in values], rtol=1e-14)
        self.assertEqual(float(again), float(result[1]))

    def test_a_worker_unpickles_once(self) -> None:
        Once.count = 0
        f = Once(square())
        for size in (1, 4):
            self.assertEqual(self.over_threads(f, range(20), 1, chunksize=size), [float(i**2) for i in range(20)])
        self.assertEqual(Once.count, 1)

    def test_each_item_begins_with_the_values_of_the_call(self) -> None:
        total, x = theano.shared(10.0, name="total"), T.dscalar("x")
        f = theano.function([x], total + x, updates=[(total, total + x)])
        for workers in (1, 3):
            self.assertEqual([float(v) for v in self.over_threads(f, range(6), workers)], [10.0 + i for i in range(6)])
        self.assertEqual(float(total.get_value()), 10.0)

    def test_chains_of_several_functions(self) -> None:
        state, value = theano.shared(0.0, name="state"), T.dscalar("value")
        move = state + RandomStreams(5).normal(())
        step = theano.function([], move, updates=[(state, move)])
        start = theano.function([value], [], updates=[(state, value)])
        walk = partial(chain, step, start)
        results = [self.over_threads(walk, [0.0, 0.0, 7.0], n, chunksize=n, seed=3) for n in (1, 3)]
        self.assertEqual(results[0], results[1])
        self.assertEqual(len(set(results[0])), 3)
        self.assertGreater(results[0][2], 3.5)

    def test_streams_of_each_kind_differ_by_item_and_not_by_worker(self) -> None:
        x = T.dscalar("x")
        for streams in (RandomStreams(3), GeneratorStreams(3), MRG_RandomStreams(3)):
            f = theano.function([x], [x + streams.uniform((2,)), streams.normal((2,))])
            before = self.over_threads(f, [0.0] * 4, 1)
            for workers, size in ((1, 4), (3, 1)):
                result = self.over_threads(f, [0.0] * 4, workers, chunksize=size)
                np.testing.assert_array_equal(result, before)
            self.assertEqual(len(np.unique(np.array(before))), 16, streams)
            seeded = [self.over_threads(f, [0.0] * 4, 2, seed=seed) for seed in (1, 1, 2)]
            np.testing.assert_array_equal(seeded[0], seeded[1])
            self.assertEqual(len(np.unique(np.array([before, seeded[0], seeded[2]]))), 48)

    def test_draws_in_a_loop(self) -> None:
        streams, n = MRG_RandomStreams(8), T.lscalar("n")
        values, updates = theano.scan(lambda: streams.uniform((2,)), n_steps=n)
        f = theano.function([n], values, updates=updates)
        results = [self.over_threads(f, [2, 2, 2], k, chunksize=1) for k in (1, 2)]
        np.testing.assert_array_equal(results[0], results[1])
        self.assertEqual(len(np.unique(np.array(results[0]))), 12)

    def test_integers_of_six_columns_are_no_stream(self) -> None:
        counts = theano.shared(np.arange(12, dtype="int32").reshape(2, 6), name="counts")
        f = theano.function([T.dscalar("x")], counts, updates=[(counts, counts + 1)], on_unused_input="ignore")
        result = self.over_threads(f, [0.0, 0.0], 1)
        np.testing.assert_array_equal(result, [np.arange(12).reshape(2, 6)] * 2)

    def test_an_error_names_the_item(self) -> None:
        w, x = theano.shared(np.ones(3), name="w"), T.dvector("x")
        f = theano.function([x], (x * w).sum())
        with self.assertRaises(ValueError) as caught:
            self.over_threads(f, [np.ones(3), np.ones(3), np.ones(2), np.ones(5)])
        self.assertIn(
            "  in element 2 of the arguments of map, counted from 0: array([1., 1.])", caught.exception.__notes__
        )
        self.assertIn("in the worker:", str(caught.exception.__cause__))
        with self.assertRaisesRegex(RuntimeError, "BadError: 1 and 2"):
            self.over_threads(complain, [0.0])

    def test_an_op_that_cannot_be_pickled_is_named(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], NoPickle()(x) + 1, mode="FAST_COMPILE", name="f")
        with self.assertRaisesRegex(TypeError, "(?s)function `f` .*its op NoPickle cannot be pickled.*Hint"):
            self.over_threads(f, [np.ones(2)])
        with self.assertRaisesRegex(TypeError, "(?s)it cannot be pickled: .*Hint: give a compiled function"):
            self.over_threads(lambda x: x, [1.0])

    def test_wrong_arguments(self) -> None:
        f = square()
        wrong: list[tuple[Any, type[Exception], str]] = [
            (None, TypeError, "no client was given.*concurrent.futures.Executor"),
            (3, TypeError, "3 is no client"),
            (ThreadPoolExecutor, TypeError, "is no client"),
            ("ray", ValueError, "no engine is called 'ray'.*give 'dask' or 'mpi'"),
        ]
        for executor, error, text in wrong:
            with self.subTest(executor), self.assertRaisesRegex(error, f"(?s){text}"):
                distributed.map(f, [1.0], executor)
        with self.assertRaisesRegex(ValueError, "chunksize is 0"):
            self.over_threads(f, [1.0], chunksize=0)
        uncalled: Any = T.dscalar("x")
        with self.assertRaisesRegex(TypeError, "cannot be called"):
            self.over_threads(uncalled, [1.0])

    def test_seeds_that_are_none(self) -> None:
        seeds: list[tuple[Any, type[Exception]]] = [("a", TypeError), (1.5, TypeError), (-1, ValueError)]
        for seed, error in seeds:
            with (
                self.subTest(seed),
                self.assertRaisesRegex(error, f"map: the seed is {seed!r}\n  Hint: give an int"),
            ):
                self.over_threads(abs, [1.0], seed=seed)

    @slow
    def test_an_item_that_cannot_be_pickled_is_named(self) -> None:
        text = "(?s)element 1 .*counted from 0, cannot be sent.*lock.*Hint"
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool, self.assertRaisesRegex(TypeError, text):
            distributed.map(abs, [1.0, threading.Lock()], pool)

    def test_what_was_not_begun_is_cancelled_at_once(self) -> None:
        futures = []

        class Pool:
            def submit(self, f: Any, *args: Any) -> Any:
                future = mock.Mock(result=partial(f, *args))
                futures.append(future)
                return future

        pool: Any = Pool()
        counts = []
        try:
            distributed.map(complain_at_two, range(4), pool, chunksize=1)
        except ValueError:
            # The frames are alive here: nothing was collected.
            counts = [future.cancel.call_count for future in futures]
        self.assertEqual(counts, [1] * 4)

    def test_a_closed_client(self) -> None:
        names = ("submit", "scatter", "nthreads", "wait_for_workers")
        held: dict[str, Any] = {"__module__": "distributed.client", "status": "closed", **dict.fromkeys(names, len)}
        client: Any = type("Client", (), held)()
        with self.assertRaisesRegex(RuntimeError, "map: this Dask client is closed\n  Hint: make another one"):
            distributed.map(square(), [1.0], client)

    def test_a_client_of_another_kind(self) -> None:
        names = ("submit", "scatter", "nthreads", "wait_for_workers")
        held: dict[str, Any] = {"__module__": "distributed.client", "asynchronous": True, **dict.fromkeys(names, len)}
        client: Any = type("Client", (), held)()
        with self.assertRaisesRegex(TypeError, "the Dask client is asynchronous"):
            distributed.map(square(), [1.0], client)

    def test_engines_that_are_not_installed(self) -> None:
        with mock.patch.dict(sys.modules, {"distributed": None, "mpi4py": None, "mpi4py.MPI": None}):
            for name in ("dask", "mpi"):
                with self.subTest(name), self.assertRaisesRegex(ImportError, rf"pip install 'theano-stack\[{name}\]'"):
                    distributed.map(square(), [1.0], name)

    @slow
    def test_nothing_is_imported_before_it_is_used(self) -> None:
        program = (
            "import sys, theano; print('theano.distributed' in sys.modules); theano.distributed.map;"
            "print(sorted({'distributed', 'dask', 'mpi4py', 'joblib', 'cloudpickle'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), ["False", "[]"])

    def test_joblib(self) -> None:
        class Parallel:  # a stand-in for joblib.Parallel in `map`
            n_jobs: int | None = 2

            def __call__(self, tasks: Any) -> list[Any]:
                return [f(*args, **kwargs) for f, args, kwargs in tasks]

        result = distributed.map(square(), range(5), Parallel())
        self.assertEqual([float(v) for v in result], [0.0, 1.0, 4.0, 9.0, 16.0])

    def test_keys_go_by_content(self) -> None:
        w, x = theano.shared(np.ones(2), name="w"), T.dscalar("x")
        f = theano.function([x], x * w)
        keys = {pack(f, by_value=False).key for _ in range(2)}
        self.assertEqual(len(keys), 1)
        w.set_value(np.zeros(2))
        self.assertNotIn(pack(f, by_value=False).key, keys)


class World:
    """Processes that are threads: the part of MPI in the training steps, for tests."""

    def __init__(self, rank: int, barrier: threading.Barrier, board: list[Any]) -> None:
        self.rank, self.barrier, self.board = rank, barrier, board

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return len(self.board)

    def allgather(self, sendobj: Any) -> list[Any]:
        self.board[self.rank] = sendobj
        self.barrier.wait(600)
        results = list(self.board)
        self.barrier.wait(600)
        return results

    def Allreduce(self, sendbuf: Any, recvbuf: Any) -> None:
        recvbuf[...] = sum(self.allgather(np.array(sendbuf)))

    def bcast(self, obj: Any, root: int = 0) -> Any:
        return self.allgather(obj)[root]


def together(count: int, program: Callable[[World], Any]) -> list[Any]:
    """Run a program in as many processes, which are threads, and return the result of each."""
    barrier, board = threading.Barrier(count), [None] * count
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(program, [World(rank, barrier, board) for rank in range(count)]))


def momentum(gradients: list[Any], params: list[Any]) -> list[tuple[Any, Any]]:
    updates = []
    for g, p in zip(gradients, params, strict=True):
        decay, rate = (T.constant(value, dtype=p.dtype) for value in (0.9, 0.1))
        v = theano.shared(np.zeros_like(p.get_value()), name=f"velocity of {p.name}")
        updates += [(v, decay * v + g), (p, p - rate * (decay * v + g))]
    return updates


def model(dtype: str = "float64") -> tuple[list[Any], Any, list[Any]]:
    """Return inputs, cost and parameters of a small net with weight decay."""
    rng = np.random.default_rng(0)
    x, y, scale = T.matrix("x", dtype), T.vector("y", dtype), T.scalar("scale", dtype)
    w = theano.shared(rng.normal(size=(4, 3)).astype(dtype), name="w")
    v = theano.shared(rng.normal(size=3).astype(dtype), name="v")
    cost = T.sqr(T.dot(T.tanh(T.dot(x, w)), v) * scale - y).mean() + np.asarray(0.01, dtype) * T.sqr(w).sum()
    return [x, y, scale], cost, [w, v]


def batches(dtype: str = "float64") -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(1)
    return [
        (rng.normal(size=(n, 4)).astype(dtype), rng.normal(size=n).astype(dtype), np.asarray(2, dtype))
        for n in (7, 2, 12)
    ]


def whole(dtype: str = "float64") -> tuple[list[float], list[Any]]:
    """Return costs and parameters of the steps of one function on whole batches."""
    inputs, cost, params = model(dtype)
    train = theano.function(inputs, cost, updates=momentum(T.grad(cost, params), params))
    return [float(train(*batch)) for batch in batches(dtype)], [p.get_value() for p in params]


class TestDataParallel(unittest.TestCase):
    def check(self, count: int, dtype: str, rtol: float) -> None:
        def program(world: World) -> tuple[list[float], list[Any]]:
            step = distributed.data_parallel(*model(dtype), momentum, world)
            return [step(*batch) for batch in batches(dtype)], [p.get_value() for p in step.params]

        costs, params = whole(dtype)
        for found_costs, item in together(count, program):
            np.testing.assert_allclose(found_costs, costs, rtol=rtol)
            for a, b in zip(item, params, strict=True):
                self.assertEqual(a.dtype, dtype)
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)

    def test_a_step_in_parts_is_the_step_of_the_whole(self) -> None:
        for count in (1, 2, 3):
            self.check(count, "float64", 1e-12)
        self.check(2, "float32", 1e-5)

    def test_uneven_parts(self) -> None:
        def program(world: World) -> tuple[list[float], list[Any]]:
            step = distributed.data_parallel(*model(), momentum, world)
            costs = []
            for x, y, scale in batches():
                edge = len(x) - 1 if world.rank == 0 else None
                mine = slice(0, edge) if world.rank == 0 else slice(len(x) - 1, None)
                costs.append(step.parts([(x[mine], y[mine], scale)]))
            return costs, [p.get_value() for p in step.params]

        costs, params = whole()
        for found_costs, item in together(2, program):
            np.testing.assert_allclose(found_costs, costs, rtol=1e-12)
            np.testing.assert_allclose(item[0], params[0], rtol=1e-12)

    def test_training_goes_on_from_a_state(self) -> None:
        def program(world: World) -> list[float]:
            first, *others = batches()
            step = distributed.data_parallel(*model(), momentum, world)
            costs = [step(*first)]
            other = distributed.data_parallel(*model(), momentum, world)
            other.set_state(step.get_state())
            self.assertEqual(other.steps, 1)
            with self.assertRaisesRegex(ValueError, "(?s)no state of these.*expected: .*velocity"):
                other.set_state({"w": 1})
            return costs + [other(*batch) for batch in others]

        for costs in together(2, program):
            np.testing.assert_allclose(costs, whole()[0], rtol=1e-12)

    def test_dropout_draws_by_step_and_part(self) -> None:
        def program(world: World) -> list[list[float]]:
            results = []
            for _ in range(2):
                x, w = T.dmatrix("x"), theano.shared(np.ones(2), name="w")
                streams = RandomStreams(1)
                cost = T.dot(x + streams.uniform((1, 2)), w).mean()
                step = distributed.data_parallel([x], cost, [w], lambda g, p: [], world, seed=4)
                results.append([step(np.zeros((4, 2))) for _ in range(3)])
            return results

        for first, second in together(2, program):
            self.assertEqual(first, second)
            self.assertEqual(len(set(first)), 3)

    def test_an_error_in_one_process_is_one_in_all(self) -> None:
        def program(world: World) -> list[str]:
            step = distributed.data_parallel(*model(), momentum, world)
            x, y, scale = batches()[0]
            results = []
            calls: list[Callable[[], object]] = [
                lambda: step.parts([(x, y[: 7 - world.rank], scale)]),
                lambda: step(x[: 7 - world.rank], y[: 7 - world.rank], scale),
                lambda: step(x[:0], y[:0], scale),
                lambda: step(x, y),
                lambda: step(x, np.float64(3), scale),
            ]
            for call in calls:
                with self.assertRaises((ValueError, TypeError, RuntimeError)) as caught:
                    call()
                results.append("\n".join([str(caught.exception), *getattr(caught.exception, "__notes__", ())]))
            self.assertEqual(step.steps, 0)
            np.testing.assert_array_equal(step.params[0].get_value(), model()[2][0].get_value())
            return results

        first, second = together(2, program)
        self.assertIn("step 0 failed in 1 of 2 processes", first[0])
        self.assertRegex(second[0], "(?s)have 7, 6 rows.*process 1 of 2, in step 0, both counted from 0")
        for item in (first, second):
            self.assertIn("batches of different lengths", item[1])
            self.assertIn("has no rows", item[2])
            self.assertIn("takes 3 arrays, and 2 were given", item[3])
            self.assertIn("input 1 of a batch has no rows", item[4])

    def errors(self, world: World, act: Callable[[World, Any], object], count: int = 1) -> list[str]:
        """Return the results of steps after an action on the first one."""
        step = distributed.data_parallel(*model(), momentum, world)
        batch = batches()[0]
        step(*batch)
        act(world, step)
        results = []
        for _ in range(count):
            try:
                step(*batch)
            except (RuntimeError, ValueError) as error:
                results.append(str(error))
        return results

    def test_values_that_one_process_sets(self) -> None:
        acts: list[tuple[Callable[[World, Any], object], int]] = [
            (set_one_state, 2),
            (set_one_value, 2),
            (write_one_value, 100),
        ]
        for act, count in acts:
            with self.subTest(act.__name__):
                for item in together(2, partial(self.errors, act=act, count=count)):
                    self.assertEqual(len(item), 1 if count == 100 else 2)
                    self.assertRegex(item[0], "(?s)the processes have different parameters.*Hint: call set_state")

    def test_values_that_all_processes_set(self) -> None:
        def set_all(world: World, step: Any) -> None:
            step.params[0].set_value(np.ones((4, 3)))

        def repair(world: World, step: Any) -> None:
            set_one_value(world, step)
            with self.assertRaisesRegex(RuntimeError, "different parameters"):
                step(*batches()[0])
            step.set_state(world.bcast(step.get_state()))

        for act in (set_all, repair):
            self.assertEqual(together(2, partial(self.errors, act=act, count=3)), [[], []])

    def test_batches_that_differ(self) -> None:
        def program(world: World) -> str:
            step = distributed.data_parallel(*model(), momentum, world)
            x, y, scale = batches()[0]
            with self.assertRaises(ValueError) as caught:
                step(x * (1 + world.rank), y, scale)
            self.assertEqual(step.steps, 0)
            return str(caught.exception)

        for item in together(2, program):
            self.assertRegex(item, "(?s)the same length \\(7 rows\\) and different content.*step.parts\\(\\[\\(x, y")

    def test_wrong_arguments_of_a_step(self) -> None:
        world = World(0, threading.Barrier(1), [None])
        step: Any = distributed.data_parallel(*model(), momentum, world)
        x, y, scale = batches()[0]
        for parts in ([x, y, scale], x):
            with self.assertRaisesRegex(TypeError, "(?s)an array of shape .*a list of parts, each a tuple.*Hint"):
                step.parts(parts)
        with self.assertRaisesRegex(TypeError, "'file.npz' was given\n  Hint: step.set_state\\(numpy.load"):
            step.set_state("file.npz")

    def test_wrong_arguments(self) -> None:
        inputs, cost, params = model()
        world = World(0, threading.Barrier(1), [None])
        count = theano.shared(0, name="count")
        counted = cost + count
        count.default_update = count + 1
        constant: Any = T.constant(np.ones(3))
        wrong: list[tuple[tuple[Any, ...], type[Exception], str]] = [
            ((inputs, cost, params, momentum, None), TypeError, "no client was given.*give a dask.distributed.Client"),
            ((inputs, cost, params, momentum, ThreadPoolExecutor()), TypeError, "is no client"),
            ((inputs, cost, [], momentum, world), ValueError, "there are no parameters"),
            ((inputs, cost, [constant], momentum, world), TypeError, "parameters are shared arrays"),
            ((inputs, cost, [count], momentum, world), TypeError, "parameters are shared arrays.*count"),
            ((inputs, cost, params[0], momentum, world), TypeError, "params is no list.*params=\\[variable\\]"),
            ((inputs[0], cost, params, momentum, world), TypeError, "inputs is no list"),
            ((inputs, cost, params, "adam", world), TypeError, "the rule is 'adam'.*give a function: lambda"),
            ((inputs, cost, params, lambda g, p: None, world), TypeError, "the rule returned None.*pairs"),
            ((inputs, cost, params, lambda g, p: p, world), TypeError, "the rule returned .*in the place of a pair"),
            ((inputs, counted, params, momentum, world), ValueError, "the cost updates count"),
            (
                (inputs[2:], T.sqr(params[1]).sum() * inputs[2], params[1:], momentum, world),
                ValueError,
                "no input has rows",
            ),
        ]
        for arguments, error, text in wrong:
            with self.subTest(text), self.assertRaisesRegex(error, f"(?s){text}"):
                distributed.data_parallel(*arguments)
        with self.assertRaisesRegex(ValueError, "data_parallel: the seed is -1"):
            distributed.data_parallel(inputs, cost, params, momentum, world, seed=-1)
        with self.assertRaisesRegex(ValueError, "n_parts is 2.*\n.*each process is a part"):
            distributed.data_parallel(inputs, cost, params, momentum, world, n_parts=2)

    def test_items_are_divided_among_processes(self) -> None:
        def program(world: World) -> Any:
            with self.assertRaises(ValueError) as caught:
                distributed.map(complain_at_two, range(4), world)
            self.assertIn("  in element 2 of the arguments of map, counted from 0: 2", caught.exception.__notes__)
            return [float(v) for v in distributed.map(square(), range(5), world)]

        self.assertEqual(together(2, program), [[0.0, 1.0, 4.0, 9.0, 16.0]] * 2)

    def test_parts_and_means(self) -> None:
        rows = np.arange(11.0)
        parts = cut([rows, 3.0], [True, False], 4)
        self.assertEqual([len(part[0]) for part in parts], [3, 3, 3, 2])
        np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), rows)
        self.assertEqual(cut([rows, 3.0], [True, False], 4, only=3)[0][0].tolist(), [9.0, 10.0])
        means = [Mean(len(p[0]), float(p[0].mean()), [p[0].mean(keepdims=True)]) for p in parts]
        mean = mean_of_means([mean_of_means(means[:2]), mean_of_means(means[2:])])
        self.assertEqual((mean.rows, mean.cost), (11, 5.0))
        with self.assertRaisesRegex(ValueError, "no rows"):
            mean_of_means([Mean(0, 0.0, [])])


def set_one_state(world: World, step: Any) -> None:
    if world.rank == 0:
        step.set_state({**step.get_state(), "steps": np.array(7)})


def set_one_value(world: World, step: Any) -> None:
    if world.rank == 1:
        step.params[0].set_value(np.ones((4, 3)))


def write_one_value(world: World, step: Any) -> None:
    """Change a value so that only its content tells."""
    if world.rank == 1:
        step.params[0].container.value[...] += 1


def complain_at_two(x: int) -> int:
    if x == 2:
        raise ValueError("two")
    return x
