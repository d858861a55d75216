from __future__ import annotations

import io
import unittest
from typing import Any

from support import NUMBER, POSITIVE, Join, chain, halves, join, names, other

from theano_graph import FunctionGraph, PrintableGraph, debugprint, to_html


class Inside(Join):
    """An op that runs a graph."""

    def __init__(self, fgraph: FunctionGraph) -> None:
        super().__init__("inside")
        self.fgraph = fgraph

    def __str__(self) -> str:
        return "inside"


class Alias(Join):
    """An op with aliases."""

    view_map = {0: (0,)}
    destroy_map = {0: (1,)}


class TestTrees(unittest.TestCase):
    def test_equal_constants_share_an_id(self) -> None:
        make = NUMBER.make_constant
        text = debugprint(join(make(1), make(1), make(2), POSITIVE.make_constant(1), make(1, name="one")), file="str")
        self.assertEqual(
            text,
            "join [id A] ''   \n |Constant{1} [id B]\n |Constant{1} [id B]\n |Constant{2} [id C]\n"
            " |Constant{1} [id D]\n |one [id E]\n",
        )

    def test_variables_of_one_name_do_not_share_an_id(self) -> None:
        text = debugprint(join(*names("xx")), file="str")
        self.assertEqual(text, "join [id A] ''   \n |x [id B]\n |x [id C]\n")

    def test_calls_share_ids(self) -> None:
        x, y = names("xy")
        part = other(x)
        done: dict[object, str] = {}
        self.assertEqual(debugprint(part, file="str", done=done), "other [id A] ''   \n |x [id B]\n")
        self.assertEqual(
            debugprint(join(part, y), file="str", done=done), "join [id C] ''   \n |other [id A] ''   \n |y [id D]\n"
        )

    def test_ids_of_what_is_only_mentioned(self) -> None:
        x, y = names("xy")
        used: dict[object, str] = {}
        deep = join(other(x), y)
        debugprint(deep, depth=1, file="str", used_ids=used)
        self.assertEqual(list(used.values()), ["[id A]"])
        self.assertEqual(debugprint(y, file="str", used_ids=used), "y [id B]\n")
        self.assertEqual(debugprint(deep, depth=1, file="str", used_ids=used), "join [id A] ''   \n")

    def test_clients(self) -> None:
        (x,) = names("x")
        part = other(x)
        text = str(debugprint([join(part, part), part], file="str", print_clients=True))
        self.assertEqual(
            text.splitlines()[1], " |other [id B] ''    clients:[('output', ''), ('[id A]', ''), ('[id A]', '')]"
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

    def test_ids(self) -> None:
        (x,) = names("x")
        out = join(x)
        for ids, expected in (("int", ["[id 0]", "[id 1]"]), ("id", [f"[id {id(out.owner)}]", f"[id {id(x)}]"])):
            lines = str(debugprint(out, file="str", ids=ids)).splitlines()  # type: ignore[arg-type]
            self.assertEqual(lines, [f"join {expected[0]} ''   ", f" |x {expected[1]}"])
        self.assertEqual(debugprint(out, file="str", ids=""), "join  ''   \n |x \n")
        with self.assertRaisesRegex(ValueError, "ids cannot be 'char'"):
            debugprint(out, ids="char")  # type: ignore[arg-type]

    def test_names_stop(self) -> None:
        (x,) = names("x")
        part = other(x)
        part.name = "part"
        out = join(part, x)
        out.name = "out"
        self.assertEqual(debugprint(join(part, x), file="str", stop_on_name=True).count("\n"), 3)  # type: ignore[union-attr]
        self.assertEqual(debugprint(out, file="str", stop_on_name=True), "join [id A] 'out'   \n")

    def test_files(self) -> None:
        stream = io.StringIO()
        (x,) = names("x")
        self.assertIs(debugprint(x, file=stream), stream)
        self.assertEqual(stream.getvalue(), "x [id A]\n")
        with self.assertRaisesRegex(TypeError, "cannot show an object of type int"):
            debugprint(3)

    def test_aliases(self) -> None:
        out = Alias()(*names("xy"))
        options: tuple[tuple[dict[str, Any], str], ...] = (
            ({}, "   "),
            ({"print_view_map": True}, "  v={0: [0]} "),
            ({"print_destroy_map": True}, " d={0: [1]}  "),
        )
        for chosen, note in options:
            first = str(debugprint(out, file="str", **chosen)).splitlines()[0]
            self.assertEqual(first, f"{out.owner.op} [id A] ''{note}")

    def test_graphs_inside_ops(self) -> None:
        a, b, x, y = names("abxy")
        deepest = Inside(FunctionGraph([b], [join(b)]))
        middle = Inside(FunctionGraph([a, b], [deepest(other(a)), b]))
        self.assertEqual(
            debugprint(other(middle(x, y)), file="str"),
            "".join(
                f"{line}\n"
                for line in (
                    "other [id A] ''   ",
                    " |inside [id B] ''   ",
                    "   |x [id C]",
                    "   |y [id D]",
                    "",
                    "Inner graphs:",
                    "",
                    "inside [id B] ''   ",
                    " >inside [id E] ''   ",
                    " > |other [id F] ''   ",
                    " >   |a [id G] -> [id C]",
                    " >b [id H] -> [id D]",
                    "",
                    "inside [id E] ''   ",
                    " >join [id I] ''   ",
                    " > |b [id J] -> [id F]",
                )
            ),
        )

    def test_times(self) -> None:
        (x,) = names("x")
        out = join(other(x), x)
        first, second = FunctionGraph([x], [out], clone=False).toposort()
        graph = PrintableGraph([out], [first, second], times={first: 3.0, second: 1.0}, call_time=5.0)
        lines = str(debugprint([graph], file="str")).splitlines()
        self.assertEqual(lines[:3], ["", "Timing Info", "-----------"])
        self.assertEqual(
            lines[-4:-1],
            [
                "join [id A] ''   1 --> 1.00e+00s 20.0% 4.00e+00s 80.0%",
                " |other [id B] ''   0 --> 3.00e+00s 60.0% 3.00e+00s 60.0%",
                " | |x [id C]",
            ],
        )
        still = PrintableGraph([out], times={first: 0.0})
        text = str(debugprint([still, x], file="str"))
        self.assertNotIn("Timing Info", text)
        self.assertIn("--> 0.00e+00s  0.0%", text)

    def test_deep_chains_with_a_limit(self) -> None:
        (x,) = names("x")
        deep = chain(x, 100_000)
        self.assertEqual(str(debugprint(deep, depth=3, file="str", print_clients=True)).count("\n"), 5)
        self.assertLess(len(to_html(deep)), 200_000)
