from __future__ import annotations

import unittest

from support import NUMBER, POSITIVE, halves, join, names, other

from theano_graph import FunctionGraph, debugprint


class TestTrees(unittest.TestCase):
    def test_equal_constants_share_an_id(self) -> None:
        make = NUMBER.make_constant
        text = debugprint(join(make(1), make(1), make(2), POSITIVE.make_constant(1), make(1, name="one")), file="str")
        self.assertEqual(
            text,
            "join [id A] ''\n |Constant{1} [id B]\n |Constant{1} [id B]\n |Constant{2} [id C]\n"
            " |Constant{1} [id D]\n |one [id E]\n",
        )

    def test_variables_of_one_name_do_not_share_an_id(self) -> None:
        text = debugprint(join(*names("xx")), file="str")
        self.assertEqual(text, "join [id A] ''\n |x [id B]\n |x [id C]\n")

    def test_calls_share_ids(self) -> None:
        x, y = names("xy")
        part = other(x)
        done: dict[object, str] = {}
        self.assertEqual(debugprint(part, file="str", done=done), "other [id A] ''\n |x [id B]\n")
        self.assertEqual(
            debugprint(join(part, y), file="str", done=done), "join [id C] ''\n |other [id A] ''\n |y [id D]\n"
        )

    def test_ids_of_what_is_only_mentioned(self) -> None:
        x, y = names("xy")
        used: dict[object, str] = {}
        deep = join(other(x), y)
        debugprint(deep, depth=1, file="str", used_ids=used)
        self.assertEqual(list(used.values()), ["[id A]"])
        self.assertEqual(debugprint(y, file="str", used_ids=used), "y [id B]\n")
        self.assertEqual(debugprint(deep, depth=1, file="str", used_ids=used), "join [id A] ''\n")

    def test_clients(self) -> None:
        (x,) = names("x")
        part = other(x)
        text = str(debugprint([join(part, part), part], file="str", print_clients=True))
        self.assertEqual(
            text.splitlines()[1], " |other [id B] '' clients:[('[id A]', 0), ('[id A]', 1), ('output', 1)]"
        )
        self.assertNotIn("clients", text.splitlines()[0])

    def test_types_and_outputs_of_a_node(self) -> None:
        (x,) = names("x")
        graph = FunctionGraph([x], list(halves(x)))
        self.assertEqual(
            debugprint(graph, file="str", print_type=True),
            f"{halves}.0 [id A] <Number(positive=False)> ''   0\n |x [id B] <Number(positive=False)>\n"
            f"{halves}.1 [id A] <Number(positive=False)> ''   0\n",
        )
