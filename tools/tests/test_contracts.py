"""Contracts between layers are read from their sources: here from those of three layers of a few lines."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import _contracts
import _reach
import generate_contracts
from _house import Layer

SOURCES = {
    "graph": {
        "__init__.py": '''"""What an expression is. More."""

from ._base import Base as Base, Shape as Shape, rules as rules, set_hook as set_hook, walk as walk
''',
        "_base.py": '''
from collections.abc import Callable
from typing import Protocol

Rule = Callable[["Base"], int]

#: How many steps it takes; ``rule(node)``.
#: A rule is asked once.
rules: RuleTable[Rule] = RuleTable("rules")

kept_inside: RuleTable[int] = RuleTable("kept_inside")

class Base:
    """What is computed. Not shown.

    It is immutable.

    Parameters
    ----------
    name : str

    Notes
    -----
    Compared by *value*, see :meth:`run`.

    Examples
    --------
    >>> Base
    """

    #: Which inputs are overwritten.
    overwrites: dict[int, int] = {}
    unsaid = 1

    def run(self, x: int, *, fast: bool = False) -> int:
        """Return what is computed."""

    def stays(self) -> None:
        """Never replaced."""

class Shape(Protocol):
    """What has lengths."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths."""

def set_hook(function: Callable[[], None]) -> None:
    """Say what is called."""

def walk(base: Base, depth: int = 1, *rest: int) -> list[Base] | None:
    """Return all nodes. They come in order.

    >>> walk(1)
    """

def untaken() -> None:
    """Nobody takes it."""
''',
    },
    "tensor": {
        "__init__.py": '''"""Tensors."""

import theano_graph as tg
from theano_graph import Base, Shape, rules as table, set_hook

from . import _more

class Add(Base):
    overwrites = {0: 0}
    unsaid = 2

    def run(self, x, *, fast=False):
        return tg.walk(self)

@table.register(Add)
def _add(node):
    return 1

table.register(Base)(len)
set_hook(print)
''',
        "_more.py": """from theano_tensor import Add

class Twice(Add):
    def run(self, x):
        return x
""",
    },
    "theano": {"__init__.py": "from theano_graph import Base\nfrom theano_tensor import Add\n"},
}


class TestContracts(unittest.TestCase):
    page: str

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        layers = {}
        for name, files in SOURCES.items():
            module = name if name == "theano" else f"theano_{name}"
            layers[name] = Layer(name, Path(scratch.name) / name, module, (), ())
            folder = layers[name].folder / "src" / module
            folder.mkdir(parents=True)
            for file, text in files.items():
                (folder / file).write_text(text)
        sources = {item.module: item.source for item in layers.values()}
        caches = (_contracts.read, _contracts.resolve, _contracts.public_address, _contracts._layers)
        for function in (*caches, _reach.find_module):
            function.cache_clear()
            cls.addClassCleanup(function.cache_clear)
        for where, name, value in (
            (_contracts, "LAYERS", tuple(SOURCES)),
            (_contracts, "layer", layers.__getitem__),
            (generate_contracts, "LAYERS", tuple(SOURCES)),
            (generate_contracts, "layer", layers.__getitem__),
            (_reach, "SOURCES", sources),
        ):
            patch = mock.patch.object(where, name, value)
            patch.start()
            cls.addClassCleanup(patch.stop)
        cls.page = generate_contracts.page(tuple(SOURCES))

    def entry(self, start: str) -> str:
        """Return the entry of the page that begins so."""
        begin = self.page.index(f"\n- `{start}") + 1
        ends = [self.page.find(text, begin) for text in ("\n- ", "\n#")]
        return self.page[begin : min(end for end in ends if end >= 0)]

    def test_a_layer_says_what_it_is(self) -> None:
        self.assertIn("## `theano_graph`\n\nWhat an expression is.\n\n### Tables and registries", self.page)

    def test_tables_have_their_rule_and_who_registers(self) -> None:
        entry = self.entry("rules")
        self.assertIn(
            "`rules: RuleTable[Rule] = Callable[[Base], int]`: How many steps it takes; `rule(node)`.\n", entry
        )
        self.assertIn("A rule is asked once.", entry)
        self.assertIn("Registrations: tensor 2.", entry)

    def test_tables_without_a_public_address_are_left_out(self) -> None:
        self.assertNotIn("kept_inside", self.page)

    def test_bases_have_prose_notes_and_members_that_others_replace(self) -> None:
        entry = self.entry("Base")
        for text in (
            "`Base`: What is computed. Not shown.\n\n  It is immutable.",
            "Compared by \\*value\\*, see `run`.",
            "Classes: tensor 1.",
            "  - `overwrites: dict[int, int]`: Which inputs are overwritten.",
            "  - `run(x: int, *, fast: bool=False) -> int`: Return what is computed.",
        ):
            self.assertIn(text, entry)
        for text in ("stays", "unsaid", "Parameters", ">>>"):
            self.assertNotIn(text, entry)

    def test_protocols_have_all_members(self) -> None:
        self.assertIn("  - `lengths`: The lengths.", self.entry("Shape"))

    def test_hooks_are_called_at_import(self) -> None:
        self.assertIn("Calls: tensor 1.", self.entry("set_hook(function: Callable[[], None]) -> None"))

    def test_other_names_have_their_first_sentence(self) -> None:
        self.assertIn("| `walk(base, depth=1, *rest)` | Return all nodes. | tensor |", self.page)

    def test_what_nobody_takes_is_left_out(self) -> None:
        self.assertNotIn("untaken", self.page)

    def test_the_umbrella_alone_makes_no_contract(self) -> None:
        self.assertNotIn("theano_tensor", self.page)

    def test_the_same_sources_give_the_same_page(self) -> None:
        self.assertEqual(self.page, generate_contracts.page(tuple(SOURCES)))


class TestText(unittest.TestCase):
    def test_sentences(self) -> None:
        for text, expected in (
            ("Return one. Or two.", "Return one."),
            ("Return e.g. one\nthing, or\nmore. `x` is it.", "Return e.g. one thing, or more."),
            ("Tell whether:\n\n- it is", "Tell whether."),
            ("No end", "No end"),
        ):
            with self.subTest(text):
                self.assertEqual(generate_contracts.sentence(text), expected)

    def test_markdown(self) -> None:
        text = generate_contracts.markdown("``a * b``, :class:`~x.Y` and a < b * c")
        self.assertEqual(text, "`a * b`, `x.Y` and a &lt; b \\* c")


if __name__ == "__main__":
    unittest.main()
