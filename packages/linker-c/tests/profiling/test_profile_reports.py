"""The text of profiles, memory, and the report at the end of a program."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
from small_arrays import Arrays, Python, add, log, mul, number, vector

from theano_graph import Apply, config
from theano_linker_c import Function, Mode, ProfileStats, function
from theano_linker_c.profiling import device_kind, outside
from theano_optimize import RewriteQuery
from theano_testing.tiers import slow

V = np.ones(1000)


def profiled(inputs: Any, outputs: Any, linker: str = "cvm", optimizer: Any = "None", **others: Any) -> Function:
    """Return a profiled function, without rewrites unless it is said otherwise."""
    return function(inputs, outputs, **{"mode": Mode(linker, optimizer), "profile": True, **others})


def text_of(profile: ProfileStats | None, **kwargs: Any) -> str:
    """Return the text of a profile."""
    assert profile is not None
    stream = io.StringIO()
    profile.summary(stream, **kwargs)
    return stream.getvalue()


def seconds(text: str, label: str) -> float:
    """Return the figure after a label."""
    match = re.search(re.escape(label) + r":? (-?[.\d]+) (s|ms|us|ns)\b", text)
    assert match is not None, f"{label} in {text}"
    return float(match[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[match[2]]


class TestSections(unittest.TestCase):
    def test_global_section_adds_up(self) -> None:
        x = vector("x")
        for linker in ("cvm", "vm"):
            f = profiled([x], mul(add(x, x), log(x)), linker, name="train")
            for _ in range(5):
                f(V)
            text = text_of(f.profile)
            self.assertIn("Function profiling\n==================\nMessage: train\n", text)
            full = seconds(text, "Time in 5 calls to Function.__call__")
            parts = ("Time in thunks", "Overhead between thunks", "Overhead of arguments, results and updates")
            # Times are printed with three digits.
            self.assertAlmostEqual(sum(seconds(text, part) for part in parts), full, delta=0.02 * full)
            self.assertLessEqual(seconds(text, "Time in Function.fn.__call__"), full)
            full = seconds(text, "Total compile time")
            parts = (
                "Theano Optimizer time",
                "Theano Linker time (includes C, CUDA code generation/compiling)",
                "Copying the graph and checks",
            )
            self.assertAlmostEqual(sum(seconds(text, part) for part in parts), full, delta=0.02 * full)
            self.assertIn("  Number of Apply nodes: 3\n", text)

    def test_tables(self) -> None:
        x = vector("x")
        f = profiled([x], mul(add(x, x), Python(np.sin)(x)))
        for _ in range(3):
            f(V)
        text = text_of(f.profile)
        self.assertIn("<% time> <sum %> <apply time> <time per call> <type> <#call> <#apply> <Class name>", text)
        self.assertRegex(text, r"us +C +6 +2   Elementwise\n")
        self.assertRegex(text, r"Py +3 +1   Python{sin}")
        self.assertIn("<% time> <sum %> <apply time> <time per call> <#call> <id> <made at> <Apply name>", text)
        self.assertRegex(
            text, r" 3 +\d   test_profile_reports.py:\d+ +Elementwise{mul}\(Elementwise{add}.0, Python{sin}.0\)"
        )
        self.assertEqual(text.count("(remaining 0 "), 3)
        self.assertIn("Spent ", text)

    def test_long_names_are_cut(self) -> None:
        x = vector("x" * 500)
        f = profiled([x], Python(np.sin)(x))
        f(V)
        self.assertRegex(text_of(f.profile), r"  Python{sin}\(x+\.\.\.x+\)\n")

    def test_page(self) -> None:
        x = vector("<x>")
        f = profiled([x], mul(add(x, x), Python(np.sin)(x)), name="<loop>")
        for _ in range(3):
            f(V)
        assert f.profile is not None, "it is profiled"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "profile.html"
            text = f.profile.summary_html(path)
            self.assertEqual(path.read_text(encoding="utf-8"), text)
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        self.assertNotRegex(text, r"src=|href=|<x>|<loop>")
        self.assertEqual(text.count("<span class=bar"), 2 + 3 + 3)  # classes, ops, nodes
        widths = [float(width) for width in re.findall(r"data-width='([\d.]+)'", text)]
        self.assertEqual(widths[0], 1.0)
        self.assertRegex(text, r"<div [^>]*>test_profile_reports.py:\d+ test_page: f = profiled")
        self.assertRegex(text, r"<div [^>]*>Python{sin}\(&lt;x&gt;\)</div>")
        self.assertIn("iframe", f.profile._repr_html_())

    def test_lengths_of_tables(self) -> None:
        x = vector("x")
        f = profiled([x], mul(add(x, x), log(x)))
        f(V)
        text = text_of(f.profile, n_apply_to_print=1, n_ops_to_print=2)
        self.assertIn("(remaining 2 Apply instances account for", text)
        self.assertIn("(remaining 1 Ops account for", text)
        with config.change_flags(**{"profiling.n_apply": 2, "profiling.n_ops": 1, "profiling.output_line_width": 30}):
            text = text_of(f.profile)
        self.assertIn("(remaining 1 Apply", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 30)

    def test_function_that_was_not_called(self) -> None:
        x = vector("x")
        text = text_of(profiled([x], add(x, x)).profile)
        self.assertIn("Time in 0 calls to Function.__call__: 0 s\n", text)
        self.assertNotIn("Apply\n---", text)

    def test_message_is_the_line_without_a_name(self) -> None:
        x = vector("x")
        self.assertRegex(text_of(profiled([x], x).profile), r"Message: .*test_profile_reports.py:\d+")
        self.assertIn("Message: loop", text_of(profiled([x], x, profile="loop").profile))

    def test_speed_of_ops_that_know_their_work(self) -> None:
        class Counting(Python):
            def flops(self, inputs: Any, outputs: Any) -> float:
                return 4e6 * len(inputs) * float(outputs[0][0]) / 1000

        x = vector("x")
        with config.change_flags(profile_memory=True):
            f = profiled([x], Counting(np.cos)(x))
        f(V)
        text = text_of(f.profile)
        self.assertIn("<#call> <Mflops> <Gflops/s> <id>", text)
        self.assertRegex(text, r" 1 +4\.0 +[\d.]+ +0   test_profile_reports.py:\d+ +Python{cos}")

    def test_other_lines(self) -> None:
        x = vector("x")
        f = profiled([x], add(x, x), mode=Mode("cvm", "fast_run"))
        f(V)
        outside["Time in all calls of something else"] = lambda: 0.25
        try:
            self.assertIn("Time in all calls of something else 250 ms", text_of(f.profile))
        finally:
            del outside["Time in all calls of something else"]
        with config.change_flags(**{"profiling.debugprint": True}):
            self.assertIn("Elementwise{add} [id A] <float64[None]>", text_of(f.profile))
        self.assertNotIn("Optimizer Profile", text_of(f.profile))
        with config.change_flags(profile_optimizer=True):
            text = text_of(profiled([x], add(x, x), mode=Mode("cvm", "fast_run")).profile)
        self.assertIn("Optimizer Profile\n-----------------\nSeqOptimizer", text)

    def test_devices(self) -> None:
        class Moved(Python):
            pass

        @device_kind.register(Moved)
        def _kind(node: Apply) -> Any:
            return "transfer"

        x = vector("x")
        f = profiled([x], Moved(np.copy)(x))
        f(V)
        self.assertRegex(text_of(f.profile), r"Spent 0 s \(0.000%\) in cpu op, .* and .*s \(100.000%\) in transfer op")
        self.assertEqual(list(f.profile.class_impl().values()), ["C"])
        self.assertNotIn("run Python code", text_of(f.profile))
        self.assertIn("moving data between the host and a device", text_of(f.profile))

    def test_tips(self) -> None:
        x = vector("x")
        f = profiled([x], Python(np.sort)(x))
        f(V)
        self.assertIn("run Python code and take more than 10% of the time each: Python{sort}", text_of(f.profile))
        y = number("y", "float32")
        f = profiled([y], add(y, y), "vm")
        f(np.float32(1))
        self.assertIn("Tips\n----\n", text_of(f.profile))

    def test_sum(self) -> None:
        x = vector("x")
        f, g = profiled([x], add(x, x)), profiled([x], mul(x, x))
        f(V), g(V), g(V)
        assert f.profile is not None and g.profile is not None
        both = f.profile + g.profile
        self.assertEqual(both.fct_callcount, 3)
        self.assertAlmostEqual(both.compile_time, f.profile.compile_time + g.profile.compile_time)
        self.assertIn("Message: Sum of the 2 profiles", text_of(both))


class TestMemory(unittest.TestCase):
    def profile(
        self,
        outputs: Any,
        inputs: Any,
        linker: str = "vm",
        flags: dict[str, Any] | None = None,
        optimizer: Any = "None",
    ) -> str:
        """Return the profile of a function on 1000 numbers (8000 bytes) each."""
        with config.change_flags(**{"profile_memory": True, **(flags or {})}):
            f = profiled(inputs, outputs, linker, optimizer)
            f(*[V] * len(inputs))
            return text_of(f.profile)

    def test_peaks(self) -> None:
        x = vector("x")
        text = self.profile(add(add(add(x, x), x), x), [x])
        self.assertIn("(allow_gc=True): 15.6 KiB (16000 bytes)", text)
        self.assertIn("(allow_gc=False): 23.4 KiB (24000 bytes)", text)

    def test_native_results_in_the_place_of_operands(self) -> None:
        x = vector("x")
        overwriting = RewriteQuery(("inplace_elemwise",))
        text = self.profile(add(add(add(x, x), x), x), [x], "cvm", optimizer=overwriting)
        self.assertIn("(allow_gc=True): 7.8 KiB (8000 bytes)", text)
        self.assertIn("in the place of inputs: 15.6 KiB (16000 bytes)", text)

    def test_views_and_overwriting(self) -> None:
        def turned(v: Any) -> Any:
            return v[::-1]

        x = vector("x")
        text = self.profile(add(Python(turned, views=(0,))(add(x, x)), x), [x])
        self.assertIn("Spared by views: 7.8 KiB (8000 bytes)", text)
        self.assertRegex(text, r"8000  \[\(1000,\)\] v Python{turned}")

    def test_another_order_needs_less(self) -> None:
        # In the order a, b, sum(a), sum(b) two vectors are there at once; in the order a, sum(a), b, sum(b) only one.
        def total(v: Any) -> Any:
            return np.asarray(v.sum())

        x = vector("x")
        first, second = Python(np.cos)(x), Python(np.sin)(x)
        both = Python(lambda *v: v[0][:1] + v[1][:1], Arrays())
        sums = [Python(total, Arrays(ndim=0))(v) for v in (first, second)]
        text = self.profile([both(first, second), *sums], [x], flags={"profiling.min_peak_memory": True})
        self.assertRegex(text, r"Least peak found among other orders of the nodes: 15.6 KiB")
        text = self.profile(sums, [x], flags={"profiling.min_peak_memory": True})
        self.assertRegex(text, r"Least peak found among other orders of the nodes: 7.8 KiB \(8016 bytes\)")

    def test_small_results_are_left_out(self) -> None:
        x = vector("x")
        text = self.profile(add(x, x), [x], flags={"profiling.min_memory_size": 10_000})
        self.assertIn("(remaining 1 Apply instances: 8000 bytes of results, 100.00%)", text)

    def test_sizes_that_types_know(self) -> None:
        class Sized(Arrays):
            def get_shape_info(self, obj: Any) -> int:
                return int(obj.size)

            def get_size(self, shape_info: int) -> int:
                return 3 * shape_info

        x = vector("x")
        text = self.profile(Python(np.cos, Sized())(x), [x])
        self.assertIn("(allow_gc=False): 2.9 KiB (3000 bytes)", text)


SCRIPT = """
import numpy as np
from small_arrays import add, mul, vector
from theano_linker_c import function
x = vector("x")
f, g = function([x], add(x, x), name="first"), function([x], mul(x, x), name="second")
f(np.ones(3)), g(np.ones(3)), g(np.ones(3))
"""


class TestAtExit(unittest.TestCase):
    def run_script(self, flags: str) -> subprocess.CompletedProcess[str]:
        """Run the script with flags in the environment."""
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join([here, *sys.path])
        environment = {**os.environ, "THEANO_FLAGS": flags, "PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=600
        )

    def test_profiles_and_their_sum(self) -> None:
        text = self.run_script("profile=True").stderr
        self.assertEqual(re.findall("Message: (.*)", text), ["first", "second", "Sum of the 2 profiles"])
        self.assertEqual(re.findall(r"Time in (\d+) calls", text), ["1", "2", "3"])

    @slow
    def test_destinations(self) -> None:
        done = self.run_script("profile=True,profiling.destination=stdout")
        self.assertEqual(done.stdout.count("Function profiling"), 3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.txt")
            done = self.run_script(f"profile=True,profiling.destination={path}")
            self.assertEqual(done.stdout + done.stderr, "")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read().count("Function profiling"), 3)

    def test_nothing_without_the_flag(self) -> None:
        done = self.run_script("")
        self.assertEqual(done.stdout + done.stderr, "")
