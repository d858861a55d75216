"""Many processes on one cache, killed ones among them, and directories that fail while they are in use."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from unittest import mock

from theano_linker_c import scalar as sc
from theano_linker_c.compiler import CompileDirectory, CompilerWarning, build_lock, set_lock_status
from theano_linker_c.kernels import KernelLibrary
from theano_testing.tiers import slow

from .cache_support import WORKER, CacheTestCase, kernel, start


@slow
class TestProcesses(CacheTestCase):
    def finish(self, workers: Sequence[subprocess.Popen[bytes]]) -> list[int]:
        """Wait for workers; gives the numbers of their compiler runs."""
        runs = []
        for worker in workers:
            out, err = worker.communicate(timeout=600)
            self.assertEqual(worker.returncode, 0, err.decode())
            runs.append(int(out.split()[-1]))
        return runs

    def test_sixteen_at_once_on_an_empty_directory(self) -> None:
        runs = self.finish([start(WORKER, self.path) for _ in range(16)])
        # Processes that come while another compiles wait for it.
        self.assertEqual(sum(runs), 1)
        self.assertEqual(self.names("tmp"), [])
        self.assertEqual(self.build(sc.exp, sc.neg, sc.sqr, sc.tanh).compiler_runs, 0)

    def test_killed_at_any_moment(self) -> None:
        chance = random.Random(5)
        for _ in range(4):
            workers = [start(WORKER, self.path) for _ in range(2)]
            time.sleep(chance.uniform(0.1, 0.6))
            workers[0].send_signal(signal.SIGKILL)
            workers[0].communicate()
            self.finish(workers[1:])
            self.cache().clear()
        self.build(sc.exp, sc.neg, sc.sqr, sc.tanh)
        self.assertEqual(self.build(sc.exp, sc.neg, sc.sqr, sc.tanh).compiler_runs, 0)
        self.assertEqual(self.cache().clean_damaged(), 0)

    def test_cleared_and_purged_under_their_hands(self) -> None:
        clear = "import sys; from theano_linker_c.cache_tool import main; sys.exit(main([sys.argv[1]]))"
        workers = []
        for index in range(6):
            workers.append(start(WORKER, self.path))
            cleaner = start(clear, "purge" if index % 2 else "clear", flags=f"compiledir={self.path}")
            cleaner.communicate(timeout=600)
        self.finish(workers)


class TestLock(CacheTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = CompileDirectory(self.path)

    def test_the_second_waits_for_the_first(self) -> None:
        entered = []

        def second() -> None:
            with build_lock(self.folder, "0" * 40, 1.0, 60.0) as waited:
                entered.append(waited)

        with build_lock(self.folder, "0" * 40, 1.0, 60.0) as waited:
            self.assertFalse(waited)
            other = threading.Thread(target=second)
            other.start()
            time.sleep(0.05)
            self.assertEqual(entered, [])
        other.join(600)
        self.assertEqual(entered, [True])

    def test_nobody_is_waited_for_without_end(self) -> None:
        with (
            build_lock(self.folder, "0" * 40, 1.0, 60.0),
            build_lock(self.folder, "0" * 40, 0.01, 0.02) as waited,
        ):
            self.assertTrue(waited)

    def test_other_code_has_another_lock(self) -> None:
        with (
            build_lock(self.folder, "0" * 40, 1.0, 60.0),
            build_lock(self.folder, "00000001" + "0" * 32, 1.0, 60.0) as waited,
        ):
            self.assertFalse(waited)

    def test_locks_can_be_turned_off(self) -> None:
        set_lock_status(False)
        self.addCleanup(set_lock_status, True)
        with build_lock(self.folder, "0" * 40, 1.0, 60.0), build_lock(self.folder, "0" * 40, 1.0, 60.0) as waited:
            self.assertFalse(waited)
        self.assertEqual(self.names("locks"), [])

    def test_file_systems_without_locks(self) -> None:
        with (
            mock.patch("filelock.FileLock.acquire", side_effect=OSError(errno.ENOLCK, "No locks available")),
            build_lock(self.folder, "0" * 40, 1.0, 60.0) as waited,
        ):
            self.assertFalse(waited)

    def test_a_child_does_not_inherit_a_held_lock(self) -> None:
        script = (
            "import os, sys, threading\n"
            "from theano_linker_c.kernels._build import library\n"
            "from theano_linker_c.kernels import build\n"
            "held = threading.Event(); free = threading.Event()\n"
            "def hold():\n"
            "    with library._lock:\n"
            "        held.set(); free.wait(600)\n"
            "threading.Thread(target=hold).start(); held.wait(600)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    build([]); library.clear(); os._exit(7)\n"
            "free.set()\n"
            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        worker = start(script, flags=f"compiledir={self.path}")
        _, err = worker.communicate(timeout=600)
        self.assertEqual(worker.returncode, 7, err.decode())


class TestRoom(CacheTestCase):
    def test_a_disk_that_is_full_later(self) -> None:
        library = self.build(sc.exp)
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original = CompileDirectory.publish

        def publish(folder: CompileDirectory, temporary: str, *names: str) -> str:
            if folder.path == self.path:
                raise full
            return original(folder, temporary, *names)

        with (
            mock.patch.object(CompileDirectory, "publish", publish),
            self.assertWarnsRegex(CompilerWarning, r"No space left on device(.|\n)*Hint: make room"),
        ):
            loaded = library.build([kernel(sc.neg)], self.options)
        self.assertIsNotNone(loaded[0])
        self.assertTrue(library.toolchain(self.options)[0].temporary)
        self.assertEqual(self.names("tmp"), [])
        self.assertEqual(len(self.names("objects")), 1)

    def test_a_compiler_that_finds_no_room(self) -> None:
        library = KernelLibrary()
        fake = os.path.join(os.path.dirname(self.path), "gcc")
        with open(fake, "w") as file:
            file.write(f'#!/bin/sh\ncase "$*" in *"{self.path}"*) echo "No space left on device" >&2; exit 1;; esac\n')
            file.write('exec gcc "$@"\n')
        os.chmod(fake, 0o755)
        with self.assertWarnsRegex(CompilerWarning, "No space left on device"):
            loaded = library.build([kernel(sc.neg)], replace(self.options, command=fake))
        self.assertIsNotNone(loaded[0])

    def test_a_directory_that_disappears_is_made_again(self) -> None:
        library = self.build(sc.exp)
        os.rename(self.path, self.path + ".away")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            library.build([kernel(sc.neg)], self.options)
        self.assertEqual(len(self.names("objects")), 1)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o700)
