"""Records are dataclasses with slots whose methods are written at their first use."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import unittest
from typing import ClassVar

from theano_graph import record


@record
class Point:
    """A point."""

    kind: ClassVar[str] = "point"
    x: float
    y: float = 0.0

    def norm(self) -> float:
        """Return its distance from the origin."""
        return math.hypot(self.x, self.y)


@record(frozen=False)
class Basket:
    """A basket."""

    items: list[str] = dataclasses.field(default_factory=list)
    count: int = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.count = len(self.items)


@record
class Named:
    """Equal by its name alone."""

    name: str
    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name == other.name

    def __repr__(self) -> str:
        return f"<{self.name}>"


@record
class Fresh:
    """Never looked at before the test that uses it."""

    x: int


@dataclasses.dataclass(frozen=True)
class Point3(Point):
    """A dataclass that inherits from a record."""

    z: float = 5.0


class TestRecords(unittest.TestCase):
    def test_arguments_defaults_and_methods(self) -> None:
        self.assertEqual(Point(3.0, y=4.0).norm(), 5.0)
        self.assertEqual((Point(1.0).x, Point(1.0).y, Point.kind), (1.0, 0.0, "point"))
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument: 'x'"):
            Point()  # type: ignore[call-arg]

    def test_equality_hashes_and_text(self) -> None:
        self.assertEqual(Point(1.0), Point(1.0))
        self.assertNotEqual(Point(1.0), Point(2.0))
        self.assertNotEqual(Point(1.0), (1.0, 0.0))
        self.assertEqual(len({Point(1.0), Point(1.0), Point(2.0)}), 2)
        self.assertEqual(repr(Point(1.0)), "Point(x=1.0, y=0.0)")

    def test_each_method_can_be_the_first_one_used(self) -> None:
        for use in (repr, hash, lambda result: result == result, lambda result: dataclasses.fields(result)):

            @record
            class Local:
                x: int

            result = object.__new__(Local)
            object.__setattr__(result, "x", 1)
            use(result)
            self.assertEqual(Local(1), result)

    def test_frozen_fields_are_neither_set_nor_deleted(self) -> None:
        point = Point(1.0)
        with self.assertRaisesRegex(dataclasses.FrozenInstanceError, "cannot assign to field 'x'"):
            point.x = 2.0  # type: ignore[misc]
        with self.assertRaisesRegex(dataclasses.FrozenInstanceError, "cannot delete field 'x'"):
            del point.x
        self.assertEqual(point.x, 1.0)

    def test_others_are_set_and_cannot_be_hashed(self) -> None:
        basket = Basket(["apple"])
        self.assertEqual(basket.count, 1)
        basket.items = ["pear", "plum"]
        self.assertEqual(basket.items, ["pear", "plum"])
        self.assertEqual(repr(Basket()), "Basket(items=[])")
        self.assertIsNot(Basket().items, Basket().items)
        with self.assertRaises(TypeError):
            hash(basket)

    def test_there_are_no_other_attributes(self) -> None:
        self.assertEqual(vars(Point)["__slots__"], ("x", "y"))
        self.assertFalse(hasattr(Point(1.0), "__dict__"))
        with self.assertRaises(AttributeError):
            Basket().colour = "red"  # type: ignore[attr-defined]

    def test_methods_of_the_class_are_kept(self) -> None:
        self.assertEqual(Named("a", 1), Named("a", 2))
        self.assertEqual(repr(Named("a", 1)), "<a>")
        self.assertNotEqual(hash(Named("a", 1)), hash(Named("b", 1)))

    def test_the_functions_of_dataclasses_apply(self) -> None:
        self.assertEqual([field.name for field in dataclasses.fields(Fresh)], ["x"])
        self.assertTrue(dataclasses.is_dataclass(Point))
        self.assertEqual(dataclasses.replace(Point(1.0, 2.0), x=3.0), Point(3.0, 2.0))
        self.assertEqual(dataclasses.asdict(Point(1.0)), {"x": 1.0, "y": 0.0})
        self.assertEqual((Point3(1.0).z, Point3(1.0, 2.0).y), (5.0, 2.0))

    def test_patterns(self) -> None:
        match Point(1.0, 2.0):
            case Point(x, y):
                self.assertEqual((x, y), (1.0, 2.0))
            case _:
                self.fail("a pattern with positions fits")
        self.assertEqual(Basket.__match_args__, ("items",))

    def test_pickles_and_copies(self) -> None:
        for result in (Point(1.0, 2.0), Named("a", 1)):
            self.assertEqual(pickle.loads(pickle.dumps(result)), result)
            self.assertEqual(copy.deepcopy(result), result)
        self.assertEqual(pickle.loads(pickle.dumps(Basket(["a"]))).items, ["a"])
