"""How elementwise functions are called: signatures, and errors about wrong keywords."""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Callable
from typing import Any

import theano_tensor as T
from theano_tensor.elemwise import Elemwise


class TestSignatures(unittest.TestCase):
    def test_operands_have_names(self) -> None:
        expected = {
            "exp": "(x, /, *, name=None)",
            "maximum": "(x, y, /, *, name=None)",
            "add": "(*inputs, name=None)",
            "switch": "(condition, a, b, /, *, name=None)",
            "gammainc": "(k, x, /, *, name=None)",
        }
        self.assertEqual({name: str(inspect.signature(getattr(T, name))) for name in expected}, expected)
        self.assertIn("scalar_op", inspect.signature(Elemwise).parameters)

    def test_wrong_keywords_show_the_signature(self) -> None:
        x: Any = T.dvector("x")
        cases: tuple[tuple[str, str, Callable[[], Any]], ...] = (
            ("exp: there is no argument `foo`", r"exp\(x, /", lambda: T.exp(x, foo=1)),
            ("maximum: there is no argument `y`", r"maximum\(x, y, /", lambda: T.maximum(x, y=1)),
            ("add: there is no argument `axis`, `dtype`", r"add\(\*inputs", lambda: T.add(x, x, dtype="int8", axis=0)),
        )
        for first, signature, ask in cases:
            with self.subTest(first), self.assertRaises(TypeError) as caught:
                ask()
            self.assertRegex(str(caught.exception), f"^{first}\n  signature: {signature}.*\n  Hint: ")

    def test_names_and_lists_are_keywords(self) -> None:
        self.assertEqual(T.exp(T.dvector(), name="e").name, "e")
        result: Any = T.exp(T.dvector(), return_list=True)
        self.assertEqual(len(result), 1)

    def test_own_nodes_take_own_keywords(self) -> None:
        class Marked(Elemwise):
            def make_node(self, *inputs: Any, mark: int = 0) -> Any:
                return super().make_node(*inputs)

        self.assertEqual(Marked(T.exp.scalar_op)(T.dvector(), mark=1).ndim, 1)
