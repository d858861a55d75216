from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import unittest

import theano_optimize


class TestExamplesInDocstrings(unittest.TestCase):
    def test_they_give_what_they_say(self) -> None:
        attempted = 0
        for info in pkgutil.walk_packages(theano_optimize.__path__, "theano_optimize."):
            with self.subTest(module=info.name):
                result = doctest.testmod(importlib.import_module(info.name))
                self.assertEqual(result.failed, 0)
                attempted += result.attempted
        self.assertGreater(attempted, 50)


class TestPublicNames(unittest.TestCase):
    def test_each_has_a_text(self) -> None:
        values = {name: getattr(theano_optimize, name) for name in theano_optimize.__all__}
        documented = {name: v for name, v in values.items() if inspect.isclass(v) or inspect.isroutine(v)}
        self.assertGreater(len(documented), 30)
        for name, value in documented.items():
            with self.subTest(name=name):
                self.assertTrue((value.__doc__ or "").strip())


if __name__ == "__main__":
    unittest.main()
