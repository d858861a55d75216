"""Many processes on one cache that are killed, while others damage, clear and fill it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from cache.cache_support import CacheTestCase, start

from theano_linker_c import scalar as sc
from theano_testing.tiers import slow

from .stress_support import LONG

ROUNDS = 25 if LONG else 2
PROCESSES = 16 if LONG else 6

#: Builds different sets of kernels, checks their results, and goes on until its time is over.
WORKER = """
import ctypes, random, sys, time, warnings
import numpy as np
from theano_linker_c import scalar as sc
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import ElementwiseKernel, KernelLibrary
warnings.simplefilter("error")
path, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
chance = random.Random(seed)
pairs = [(sc.exp, np.exp), (sc.neg, np.negative), (sc.sqr, np.square), (sc.tanh, np.tanh), (sc.sqrt, np.sqrt)]
options = CompilerOptions(command="gcc", directory=path, max_bytes=200_000)
end, builds = time.monotonic() + seconds, 0
while True:
    chosen = chance.sample(pairs, chance.randint(1, 4))
    kernels = [ElementwiseKernel(op, ("float64",), ("float64",), ((False,),), 1) for op, _ in chosen]
    for loaded, (op, wanted) in zip(KernelLibrary().build(kernels, options), chosen):
        x, y = np.linspace(0.1, 1, 50), np.zeros(50)
        data = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
        strides = (ctypes.c_int64 * 2)(8, 8)
        ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(loaded.address)(
            50, ctypes.cast(data, ctypes.c_void_p), ctypes.cast(strides, ctypes.c_void_p))
        assert np.allclose(y, wanted(x), rtol=1e-12), op
    builds += 1
    if time.monotonic() > end:
        break
print("builds", builds)
"""


@slow
class TestCacheUnderStress(CacheTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.chance = random.Random(20)

    def test_kills_and_damage(self) -> None:
        for turn in range(ROUNDS):
            workers = [start(WORKER, self.path, str(100 * turn + n), "1.0") for n in range(PROCESSES)]
            victims = set(self.chance.sample(range(PROCESSES), PROCESSES // 3))
            for victim in victims:
                time.sleep(self.chance.uniform(0.05, 0.6))
                workers[victim].send_signal(signal.SIGKILL)
                self.damage()
            self.finish([worker for n, worker in enumerate(workers) if n not in victims])
            for victim in victims:
                workers[victim].communicate(timeout=600)
        self.check_what_is_left()

    def test_cleared_all_the_time(self) -> None:
        workers = [start(WORKER, self.path, str(n), "2.0" if LONG else "0.5") for n in range(PROCESSES)]
        while any(worker.poll() is None for worker in workers):
            if os.path.isdir(self.path):
                self.cache().clear()
            time.sleep(0.05)
        self.finish(workers)
        self.check_what_is_left()

    def finish(self, workers: Sequence[subprocess.Popen[bytes]]) -> None:
        for worker in workers:
            out, err = worker.communicate(timeout=600)
            self.assertEqual(worker.returncode, 0, err.decode())
            self.assertTrue(out.startswith(b"builds"), out)

    def damage(self) -> None:
        """Replace a file of the cache by a part of it, or by one with a bit changed.

        A new file takes the old one's place: a library loaded from the old one stays whole, as it does on a real disk
        whose contents rot.
        """
        files = [path for folder in ("objects", "index", "toolchains") for path in Path(self.path, folder).glob("*")]
        if not files:
            return
        path = self.chance.choice(files)
        try:
            data = bytearray(path.read_bytes())
        except OSError:
            return
        if self.chance.random() < 0.5 or not data:
            del data[len(data) // 2 :]
        else:
            data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        replacement = Path(self.path, f"damaged-{path.name}")
        replacement.write_bytes(data)
        os.replace(replacement, path)

    def check_what_is_left(self) -> None:
        ops = (sc.exp, sc.neg, sc.sqr, sc.tanh, sc.sqrt)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.build(*ops)
            self.assertEqual(self.build(*ops).compiler_runs, 0)
        for name in self.names("tmp"):
            os.utime(Path(self.path, "tmp", name), (0, 0))
        cache = self.cache()
        cache.clean()
        cache.clean_damaged()
        self.assertEqual(self.names("tmp"), [])
        self.assertEqual(self.build(*ops).compiler_runs, 0)
