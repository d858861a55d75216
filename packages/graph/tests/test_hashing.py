"""Structural hashes: what counts, and what has no content."""

from __future__ import annotations

import math
import sys
import threading
import unittest
from functools import cache
from types import ModuleType
from typing import Any
from unittest import mock

from theano_graph import Apply, Constant, Generic, Op, Type, Variable
from theano_graph.hashing import GraphScope, NoStructuralHashError, StructuralHasher, is_known_module, structural_hash
from theano_graph.hashing._hasher import canonical_pickle

plain = Generic()


class KnownModules(unittest.TestCase):
    def test_modules_of_the_user_with_names_of_python(self) -> None:
        for name in ("json", "json.decoder", "math", "_socket", "dataclasses", "sys", "numpy", "theano_graph.hashing"):
            self.assertTrue(is_known_module(name), name)
        private = ModuleType("trace")
        private.__file__ = "/home/user/project/trace.py"
        with mock.patch.dict(sys.modules, {"trace": private}):
            self.assertFalse(is_known_module("trace"))


class Joined(Op):
    """An op with a parameter."""

    __props__ = ("sign",)

    def __init__(self, sign: Any = 1) -> None:
        self.sign = sign

    def make_node(self, *inputs: Variable) -> Apply:
        return Apply(self, list(inputs), [plain.make_variable()])


class Other(Joined):
    """The same under another name."""


class Reticent(Joined):
    """An op whose pickle leaves out the parameter."""

    def __getstate__(self) -> dict[str, Any]:
        return {"sign": 0.0}


class Nameless(Op):
    """An op that says nothing of its parameters."""

    itypes = otypes = (plain,)


class Sized(Type):
    """A type with a parameter."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sized) and other.size == self.size

    def __hash__(self) -> int:
        return hash(self.size)


def _number(value: Any) -> Constant:
    return Constant(plain, value)


class CanonicalPickleTests(unittest.TestCase):
    def test_what_is_one_object_does_not_count(self) -> None:
        part = ("some", "text")
        twin = tuple("".join(letters) for letters in (["so", "me"], ["te", "xt"]))
        first, second = (canonical_pickle((plain, x, y), {}) for x, y in ((part, part), (part, twin)))
        self.assertIsNotNone(first)
        self.assertEqual(first, second)
        self.assertNotEqual(first, canonical_pickle((plain, part, ("some", "Text")), {}))

    def test_types_and_bits_count(self) -> None:
        results = [canonical_pickle(x, {}) for x in (1, True, 1.0, 1j, "1", b"1", 0.0, -0.0, math.nan, -math.nan, None)]
        self.assertNotIn(None, results)
        self.assertEqual(len(set(results)), len(results))

    def test_what_has_to_be_looked_at(self) -> None:
        circle: list[Any] = []
        circle.append(circle)
        for value in (
            *({1}, frozenset("ab"), Joined(), Joined, _number, cache(_number), plain("x"), Joined()(plain("x")).owner),
            *([Sized(2)], {"a": lambda: 1}, {"a": self.test_types_and_bits_count}, circle),
        ):
            self.assertIsNone(canonical_pickle(value, {}), value)


class GraphTests(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.y = plain("x"), plain("y")

    def check(self, same: bool, *others: Any) -> None:
        first = structural_hash([self.x, self.y], [Joined()(self.x, self.y)])
        for inputs, outputs in others:
            self.assertEqual(structural_hash(inputs, outputs) == first, same)

    def test_equal_graphs_are_equal(self) -> None:
        a, b = plain("a"), plain()
        self.check(True, ([a, b], [Joined()(a, b)]), ([self.x, self.y], [Joined(1)(self.x, self.y)]))

    def test_what_counts(self) -> None:
        x, y = self.x, self.y
        sized = Sized(2)()
        self.check(
            False,
            ([y, x], [Joined()(x, y)]),
            ([x, y], [Joined()(x, x)]),
            ([x, y], [Joined(2)(x, y)]),
            ([x, y], [Joined(1.0)(x, y)]),
            ([x, y], [Joined(True)(x, y)]),
            ([x, y], [Other()(x, y)]),
            ([x, y], [Joined()(x, y), Joined()(x, y)]),
            ([x, sized], [Joined()(x, sized)]),
        )

    def test_sharing_counts(self) -> None:
        shared = Joined()(self.x)
        twice = structural_hash([self.x], [Joined()(shared, shared)])
        self.assertNotEqual(twice, structural_hash([self.x], [Joined()(Joined()(self.x), Joined()(self.x))]))

    def test_constants_count_by_content(self) -> None:
        def of(value: Any) -> str:
            return structural_hash([], [Joined()(_number(value))])

        self.assertEqual(of(math.nan), of(float("nan")))
        self.assertEqual(of((1, "a", None)), of((1, "a", None)))
        values: list[Any] = [0.0, -0.0, 0, False, None, "0", b"0", (0,), [0], {0: 1}, {0}, math.nan, 0j, slice(0, 1)]
        self.assertEqual(len({of(value) for value in values}), len(values))

    def test_names_count_where_they_are_asked_for(self) -> None:
        a = plain("a")
        of_x, of_a = (structural_hash([v], [Joined()(v)], names=True) for v in (self.x, a))
        self.assertNotEqual(of_x, of_a)

    def test_names_that_are_no_text(self) -> None:
        results = []
        for name in ("\udc80", "\udc81"):
            x = plain(name)
            results.append(structural_hash([x], [Joined()(x)], names=True))
        self.assertNotEqual(*results)

    def test_marks_count(self) -> None:
        marked = plain("x")
        marked.tag.indestructible = True
        self.assertNotEqual(structural_hash([marked], [marked]), structural_hash([self.x], [self.x]))

    def test_deep_graphs(self) -> None:
        h = self.x
        for _ in range(100_000):
            h = Joined()(h, self.y)
        self.assertEqual(len(structural_hash([self.x, self.y], [h])), 40)

    def test_an_op_without_props_has_no_content(self) -> None:
        with self.assertRaisesRegex(NoStructuralHashError, "Nameless has no content.*__props__"):
            structural_hash([self.x], [Nameless()(self.x)])

    def test_props_count_that_a_pickle_leaves_out(self) -> None:
        x = plain("x")

        def hashed(*signs: float) -> str:
            return structural_hash([x], [Reticent(sign)(x) for sign in signs])

        self.assertEqual(hashed(1.5), hashed(1.5))
        self.assertNotEqual(hashed(1.5), hashed(2.5))
        # Equal pickles in one graph.
        self.assertNotEqual(hashed(1.5, 1.5), hashed(1.5, 2.5))

    def test_a_class_inside_a_function_has_no_content(self) -> None:
        class Local(Joined):
            pass

        with self.assertRaisesRegex(NoStructuralHashError, "import it"):
            structural_hash([self.x], [Local()(self.x)])


def _helper(x: int) -> int:
    return x + 1


def _rule(x: int, by: int = 2) -> int:
    return _helper(x) * by


class _Named:
    by = 2

    def __reduce__(self) -> str:
        return "_named"


_named = _Named()


class _Around:
    """An object around a function, whose pickle says where to find it."""

    def __init__(self, function: Any) -> None:
        self.__wrapped__ = function

    def __reduce__(self) -> Any:
        return str, ("a name",)


class _OfThread(threading.local):
    stack: Any = ()


class _NoPickle:
    """An object with a pickle of the test's choice."""

    def __init__(self, pickled: Any) -> None:
        self.pickled = pickled

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.pickled


class _Measure(type):
    by = 2


class _Measured(metaclass=_Measure):
    pass


class _Static(staticmethod):  # type: ignore[type-arg]
    by = 2

    def __get__(self, *args: Any) -> Any:
        return self.by


class _Computed(property):
    by = 2

    def __get__(self, *args: Any) -> Any:
        return self.by


class _Wrapped:
    static = _Static(len)
    computed = _Computed(len)


class _Kept(Variable):
    """A variable that belongs to something, and is shown in its own way."""

    @property
    def made_up(self) -> int:
        import mine  # type: ignore[import-not-found]  # noqa: PLC0415  # there is none: what is tested

        return int(mine.number)

    def __str__(self) -> str:
        return f"kept {self.made_up}"


class _Cloned(_Kept):
    """One that is copied in its own way."""

    def clone(self) -> Any:
        return _Cloned(self.type, name=self.name)


class _Compared(Variable):
    """A class with an equality of its own."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return 5


class CopiedTests(unittest.TestCase):
    def of(self, variable: Variable, copied: bool = True) -> str:
        scope = GraphScope(StructuralHasher(), True, copied=copied)
        scope.add_inputs([variable])
        return scope.digest([variable])

    def test_classes_whose_variables_are_copied_plainly_do_not_count(self) -> None:
        saved: Any = _Kept(plain, name="x")
        saved.belongs_to = threading.Lock
        self.assertIs(type(saved.clone()), Variable)
        self.assertEqual(self.of(saved), self.of(plain("x")))
        with self.assertRaisesRegex(NoStructuralHashError, "imports the module mine"):
            self.of(saved, copied=False)

    def test_classes_that_take_part_in_copying_count(self) -> None:
        self.assertNotEqual(self.of(_Compared(plain, name="x")), self.of(plain("x")))
        with self.assertRaisesRegex(NoStructuralHashError, "imports the module mine"):
            self.of(_Cloned(plain, name="x"))

    def test_variables_with_something_of_their_own_in_the_way_of_copying_count(self) -> None:
        saved: Any = _Kept(plain, name="x")
        saved.clone = saved
        with self.assertRaisesRegex(NoStructuralHashError, "imports the module mine"):
            self.of(saved)

    def test_attributes_count_where_the_class_does(self) -> None:
        def of(by: int) -> str:
            variable: Any = _Compared(plain, name="x")
            variable.by = by
            return self.of(variable)

        self.assertEqual(of(1), of(1))
        self.assertNotEqual(of(1), of(2))


class CodeTests(unittest.TestCase):
    def of(self, function: Any) -> bytes:
        return StructuralHasher().of(function)

    def compiled(self, text: str, **names: Any) -> Any:
        space: dict[str, Any] = {"__name__": __name__, **names}
        exec(text, space)
        return space["f"]

    def test_functions_count_by_code_and_all_that_it_uses(self) -> None:
        text = "def f(x): return g(x) + c"
        one = self.compiled("def g(x): return x\n" + text, c=1)
        self.assertEqual(self.of(one), self.of(self.compiled("def g(x):\n\n  return x\n" + text, c=1)))
        for other in (
            self.compiled("def g(x): return -x\n" + text, c=1),
            self.compiled("def g(x): return x\n" + text, c=2),
            self.compiled("def g(x): return x\ndef f(x, y=1): return g(x) + c", c=1),
        ):
            self.assertNotEqual(self.of(one), self.of(other))

    def test_functions_that_call_each_other(self) -> None:
        text = "def g(x): return f(x - {})\ndef f(x): return g(x) if x else 0"
        one, same, other = (self.compiled(text.format(n)) for n in (1, 1, 2))
        self.assertEqual(self.of(one), self.of(same))
        self.assertNotEqual(self.of(one), self.of(other))

    def test_library_code_counts_by_name(self) -> None:
        hasher = StructuralHasher()
        hasher.of(structural_hash)
        self.assertFalse(hasher.has_user_code)
        hasher.of(_rule)
        self.assertTrue(hasher.has_user_code)

    def test_a_module_as_a_whole_is_refused(self) -> None:
        module = type(math)("mine")
        with self.assertRaisesRegex(NoStructuralHashError, "module mine as a whole"):
            self.of(self.compiled("def f(x): return g(m)", m=module))

    def test_a_cached_function_counts_by_what_it_wraps(self) -> None:
        text = "def f(x): return g(x)"
        cached = [self.compiled(f"@cache\ndef g(x): return x * {n}\n" + text, cache=cache) for n in (2, 2, 3)]
        one, same, other = map(self.of, cached)
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_what_is_around_a_function_counts_by_that_though_its_pickle_is_a_look_up(self) -> None:
        one, same, other = (_Around(self.compiled(f"def f(x): return x * {n}")) for n in (2, 2, 3))
        self.assertEqual(self.of(one), self.of(same))
        self.assertNotEqual(self.of(one), self.of(other))

    def test_classes_count_by_their_metaclass(self) -> None:
        one = self.of(_Measured)
        with mock.patch.object(_Measure, "by", 3):
            self.assertNotEqual(self.of(_Measured), one)
        self.assertEqual(self.of(_Measured), one)

    def test_classes_count_by_wrappers_of_their_own(self) -> None:
        one = self.of(_Wrapped)
        for wrapper in (_Static, _Computed):
            with mock.patch.object(wrapper, "by", 3):
                self.assertNotEqual(self.of(_Wrapped), one)
        self.assertEqual(self.of(_Wrapped), one)

    def test_names_that_a_program_adds_to_those_of_python_count(self) -> None:
        f, result = self.compiled("def f(x): return len(x) + ADDED_BY_A_PROGRAM"), []
        for value in (1, 2, 1):
            with mock.patch("builtins.ADDED_BY_A_PROGRAM", value, create=True):
                result.append(self.of(f))
        self.assertEqual([result[0] == one for one in result], [True, False, True])

    def test_classes_that_name_each_other_in_too_many_ways_are_refused(self) -> None:
        names = [f"C{i}" for i in range(8)]
        methods = "".join(f"  def m{k}(self): return {', '.join(names)}\n" for k in range(8))
        module = ModuleType("mutual")
        exec("".join(f"class {name}:\n{methods}" for name in names), module.__dict__)
        refused = self.assertRaisesRegex(NoStructuralHashError, "too much code leads to it")
        with mock.patch.dict(sys.modules, {"mutual": module}), refused:
            self.of(module.C0)

    def test_an_object_of_the_user_that_is_pickled_by_its_name_is_refused(self) -> None:
        with self.assertRaisesRegex(NoStructuralHashError, "pickled by its name"):
            self.of(self.compiled("def f(x): return x * named.by", named=_named))

    def test_an_import_inside_of_a_function_of_another_module_of_the_user_is_refused(self) -> None:
        self.of(self.compiled("def f(x):\n  import math, numpy.linalg\n  from functools import reduce\n  return x"))
        for line in ("import mine", "from mine import g", "from . import math", "from .math import sin"):
            for text in (f"def f(x):\n  {line}\n  return x", f"def f(x):\n  def g():\n    {line}\n  return g()"):
                with self.assertRaisesRegex(NoStructuralHashError, "imports"):
                    self.of(self.compiled(text))

    def test_what_is_taken_from_modules_of_the_user_counts(self) -> None:
        inner: Any = ModuleType("mine.inner")
        mine: Any = ModuleType("mine")
        mine.__dict__.update(inner=inner, sin=math.sin, math=math, __path__=[])
        lines = (
            "import mine\n  return mine.by * x",
            "import mine.inner\n  return mine.inner.by * mine.math.sin(x)",
            "import mine.inner as other\n  return other.by * x",
            "from mine import by, sin\n  return by * sin(x)",
            "from mine import inner, math\n  return math.sin(inner.by) * x",
            "from . import inner\n  return (lambda: inner.by)()",
            "from .inner import by\n  return by",
            "return m.by * x",
            "return [m.inner.by for _ in x]",
        )
        with mock.patch.dict(sys.modules, {"mine": mine, "mine.inner": inner}):
            for line in lines:
                f = self.compiled(f"def f(x):\n  {line}", m=mine, __package__="mine")
                results = []
                for inner.by, mine.by, mine.other in ((1, 1, 1), (1, 1, 2), (2, 2, 1)):
                    results.append(self.of(f))
                self.assertEqual([results[0] == one for one in results], [True, True, False], line)

    def test_modules_of_the_user_that_are_used_in_another_way_are_refused(self) -> None:
        mine = ModuleType("mine")
        mine.__dict__.update(by=1, own=ModuleType("mine.own"))
        lines = (
            "import mine\n  return vars(mine)",
            "import mine\n  mine.by = x",
            "import mine as other\n  return [other, x]",
            "import mine\n  other = mine\n  return other.by",
            "from mine import own\n  return own.by",
            "from mine import nothing",
            "global mine\n  import mine\n  return mine.by",
            "import mine.nothing\n  return mine.by",
            "import importlib\n  return importlib.import_module('mine').by",
            "import sys\n  return sys.modules['mine'].by",
            "return __import__('mine').by",
            "class K:\n    import mine\n    def m(self): return self.mine.by\n  return K().m()",
            "import mine.elsewhere as e\n  return e.by",
            "import a_module_of_python\n  return a_module_of_python.by",
        )
        # One is in the place of what its package has under that name; one is called like a module of Python.
        mine.__dict__.update(elsewhere=1)
        there = {"mine": mine, "mine.elsewhere": ModuleType("mine.elsewhere")}
        called = sys.stdlib_module_names | {"a_module_of_python"}
        with mock.patch.dict(sys.modules, there), mock.patch.object(sys, "stdlib_module_names", called):
            for line in lines:
                with self.assertRaises(NoStructuralHashError, msg=line):
                    self.of(self.compiled(f"def f(x):\n  {line}"))

    def test_too_much_code_behind_a_module_is_refused(self) -> None:
        text = "".join(f"def g{n}(): return g{n + 1}()\n" for n in range(200)) + "def g200(): return 1\ndef f(): pass"
        space = self.compiled(text).__globals__
        mine = ModuleType("mine")
        f = self.compiled("def f(): return m.g()", m=mine)
        results = []
        for first in (190, 191):
            mine.__dict__.update(g=space[f"g{first}"])
            results.append(self.of(f))
        self.assertNotEqual(*results)
        mine.__dict__.update(g=space["g50"])
        with self.assertRaisesRegex(NoStructuralHashError, "too much code"):
            self.of(f)

    def test_code_that_uses_locks_and_values_of_threads(self) -> None:
        text = "def f(x):\n  with held: return x"
        kinds = (threading.Lock, threading.RLock, threading.local, _OfThread)
        for kind in kinds:
            one, other = kind(), kind()
            if isinstance(one, threading.local):
                one.stack = [object()]
            self.assertEqual(*(self.of(self.compiled(text, held=held)) for held in (one, other)))
        self.assertEqual(len({self.of(self.compiled(text, held=kind())) for kind in kinds}), len(kinds))

    def test_objects_that_cannot_be_looked_at_are_refused(self) -> None:
        nested: tuple[Any, ...] = ()
        for _ in range(100_000):
            nested = (nested,)
        for held in (nested, _NoPickle(5), _NoPickle((_NoPickle,))):
            with self.assertRaisesRegex(NoStructuralHashError, "looking at what it holds fails"):
                self.of(held)


if __name__ == "__main__":
    unittest.main()
