"""The cyclic collector rests during work that makes many objects, and goes on as it was."""

from __future__ import annotations

import gc
import os
import threading
import unittest

from theano_graph import collector_paused


class TestPauses(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(gc.enable)
        gc.enable()

    def test_rests_inside_and_goes_on_after_errors(self) -> None:
        with self.assertRaises(KeyError), collector_paused():
            self.assertFalse(gc.isenabled())
            with collector_paused():
                self.assertFalse(gc.isenabled())
            self.assertFalse(gc.isenabled())
            raise KeyError
        self.assertTrue(gc.isenabled())

    def test_what_lasts_is_old(self) -> None:
        with collector_paused(lasting=True):
            references = [[n] for n in range(100)]
        self.assertTrue({id(k) for k in references} <= {id(k) for k in gc.get_objects(generation=2)})
        self.assertTrue(gc.isenabled())
        gc.freeze()
        try:
            frozen = gc.get_freeze_count()
            with collector_paused(lasting=True):
                more = [[n] for n in range(100)]
            self.assertEqual(gc.get_freeze_count(), frozen)
            self.assertFalse({id(m) for m in more} & {id(k) for k in gc.get_objects(generation=2)})
        finally:
            gc.unfreeze()

    def test_what_was_off_stays_off(self) -> None:
        gc.disable()
        with collector_paused():
            pass
        self.assertFalse(gc.isenabled())

    def test_the_last_of_several_threads_lets_it_go_on(self) -> None:
        inside, leave = threading.Event(), threading.Event()

        def work() -> None:
            with collector_paused():
                inside.set()
                leave.wait(600)

        with collector_paused():
            thread = threading.Thread(target=work)
            thread.start()
            self.assertTrue(inside.wait(600))
        self.assertFalse(gc.isenabled())
        leave.set()
        thread.join()
        self.assertTrue(gc.isenabled())

    def test_a_child_collects_though_another_thread_of_its_parent_paused(self) -> None:
        with collector_paused():
            child = os.fork()
            if not child:
                os._exit(0 if gc.isenabled() else 1)
            _, status = os.waitpid(child, 0)
            self.assertFalse(gc.isenabled())
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertTrue(gc.isenabled())
