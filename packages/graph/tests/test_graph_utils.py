"""Helpers on sequences, files and stacks, and the example."""

from __future__ import annotations

import contextlib
import hashlib
import io
import runpy
import sys
import tempfile
import threading
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from support import POSITIVE

import theano_graph
from theano_graph import CycleError, Type, _errors, utils

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
README = Path(__file__).resolve().parent.parent / "README.md"


class Reports(Type):
    """A type whose values are reported by the library."""

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        _errors.warn_user(f"{data} is looked at")
        return data


class TestWarnings(unittest.TestCase):
    def test_they_point_at_the_program(self) -> None:
        with self.assertWarnsRegex(UserWarning, "7 is looked at") as caught:
            Reports().filter_variable(7)
        self.assertEqual(caught.filename, __file__)

    def test_threads_of_the_library_point_at_it(self) -> None:
        code = compile("warn_user('look')", theano_graph.__file__, "exec")
        with self.assertWarnsRegex(UserWarning, "look") as caught:
            thread = threading.Thread(target=exec, args=(code, {"warn_user": _errors.warn_user}))
            thread.start()
            thread.join()
        self.assertEqual(caught.filename, theano_graph.__file__)


class TestSequences(unittest.TestCase):
    def test_flatten(self) -> None:
        self.assertEqual(utils.flatten([1, (2, [3, {4}]), [], "ab"]), [1, 2, 3, 4, "ab"])
        self.assertEqual(utils.flatten(7), [7])
        deep: Any = 1
        for _ in range(5000):
            deep = [deep]
        self.assertEqual(utils.flatten(deep), [1])

    def test_uniq_and_difference(self) -> None:
        self.assertEqual(utils.uniq([3, 1, 3, 2, 1]), [3, 1, 2])
        self.assertEqual(utils.difference([3, 1, 3, 2], [1]), [3, 3, 2])
        self.assertEqual(utils.difference([[1], [2]], [[2]]), [[1]])
        self.assertEqual(utils.difference([1, [2], 3], [3]), [1, [2]])

    def test_remove(self) -> None:
        self.assertEqual(utils.remove(lambda n: n % 2 == 0, [1, 2, 3, 4]), [1, 3])

    def test_memoize(self) -> None:
        calls: list[int] = []

        @utils.memoize
        def square(n: int) -> int:
            calls.append(n)
            return n * n

        self.assertEqual((square(3), square(3), square(4)), (9, 9, 16))
        self.assertEqual(calls, [3, 4])
        with self.assertRaises(TypeError):
            square([3])

    def test_deprecated(self) -> None:
        @utils.deprecated("old.py", "use new")
        def add(a: int, b: int) -> int:
            return a + b

        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual((add(1, 2), add(1, b=3)), (3, 4))
        self.assertEqual(text.getvalue(), "WARNING old.py.add deprecated. use new\n")
        self.assertEqual(add.__name__, "add")

    def test_toposort(self) -> None:
        needs = {"a": ["b", "c"], "b": ["c"], "c": [], "d": ["a", "elsewhere"]}
        self.assertEqual(utils.toposort(needs), ["c", "b", "a", "d"])
        with self.assertRaisesRegex(CycleError, "cycle through"):
            utils.toposort({1: [2], 2: [1]})

    def test_hash_from_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "data")
            path.write_bytes(b"some bytes")
            self.assertEqual(utils.hash_from_file(path), hashlib.sha256(b"some bytes").hexdigest())


class TestStacks(unittest.TestCase):
    def test_limit_and_order(self) -> None:
        def inner() -> Any:
            return utils.simple_extract_stack(limit=2)

        outer, last = inner()
        self.assertEqual((outer.name, last.name), ("test_limit_and_order", "inner"))
        self.assertEqual((last.filename, last.line), (__file__, "return utils.simple_extract_stack(limit=2)"))

    def test_skips_only_the_innermost(self) -> None:
        result = utils.simple_extract_stack(sys._getframe(), 3, ["test_graph_utils"])
        self.assertEqual(len(result), 3)
        self.assertNotIn("test_graph_utils", result[-1].filename)


class TestTypes(unittest.TestCase):
    def test_message_about_a_value(self) -> None:
        self.assertEqual(POSITIVE.value_validity_msg(3), "value is valid")
        self.assertEqual(POSITIVE.value_validity_msg(-3), "not positive: -3")
        self.assertEqual(Type().value_validity_msg(None), "value is valid")


class TestExamples(unittest.TestCase):
    def test_build_rules(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            runpy.run_path(str(EXAMPLES / "build_rules.py"), run_name="__main__")
        lines = text.getvalue().splitlines()
        self.assertEqual(
            lines[1:],
            [
                "saved:  2 steps of 8",
                "built:  ('call', 'util', 'print', 'hello', 'return', '0')",
                "built:  4 words",
            ],
        )

    def test_limited_steps(self) -> None:
        part = runpy.run_path(str(EXAMPLES / "build_rules.py"))
        x = part["text"]("x")
        graph = part["FunctionGraph"]([x], [part["Count"]()(part["Compile"]()(x))])
        part["LimitedSteps"](2).validate(graph)
        with self.assertRaisesRegex(ValueError, "2 steps, 1 are allowed"):
            part["LimitedSteps"](1).validate(graph)
        with self.assertRaisesRegex(TypeError, "holds text, not 3"):
            part["Compile"]()(3)

    def test_readme(self) -> None:
        blocks = [part.split("```")[0] for part in README.read_text(encoding="utf-8").split("```python\n")[1:]]
        self.assertTrue(blocks)
        with contextlib.redirect_stdout(io.StringIO()) as text:
            # Pickles look their classes up in a module.
            module = types.ModuleType("readme")
            with mock.patch.dict(sys.modules, {"readme": module}):
                exec(compile("\n".join(blocks), str(README), "exec", dont_inherit=True), module.__dict__)
        self.assertEqual(
            text.getvalue().splitlines(),
            [
                "[to_celsius(metres_up(t, 1000))]",
                "[10.0]",
                "True True",
                "['Scale{factor=2.0}', 'Scale{factor=2.0}'] [h]",
                "[Scale{factor=4.0}(h)] 0",
                "True",
                "Scale{factor=4.0} [id A] ''   0",
                " |h [id B]",
                "twice(twice(h))",
                "5 change_flags",
            ],
        )
