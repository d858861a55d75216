from __future__ import annotations

import re
import unittest
from typing import Any

from support import NUMBER, Join, chain, halves, join, names, other

from theano_graph import Apply, FunctionGraph, Variable, to_dot, to_html, to_mermaid


class Writer(Join):
    """Claims to destroy its first input and to view its second."""

    destroy_map = {0: [0]}
    view_map = {0: [1]}


class Kept(Variable):
    """A variable that can be asked for its value, as shared variables can."""

    def get_value(self) -> Any:
        return 1


def shapes(dot: str) -> dict[str, str]:
    """Return label -> attributes of the nodes of a dot text."""
    return dict(re.findall(r'^  n\d+ \[label="((?:[^"\\]|\\.)*)", (.*)\];$', dot, re.MULTILINE))


class TestDot(unittest.TestCase):
    def test_kinds_have_colours_and_shapes(self) -> None:
        x, unused = names("xu")
        shared = Kept(NUMBER, name="w")
        out = other(join(x, shared, NUMBER.make_constant(3)), name="out")
        graph = FunctionGraph([x, shared, unused], [out], clone=False)
        result = shapes(to_dot(graph, names_only=True))
        self.assertEqual(result["x"], 'shape=box, style=filled, fillcolor="#32CD32"')
        self.assertEqual(result["w"], 'shape=box, style=filled, fillcolor="#00CED1"')
        self.assertEqual(result["Constant{3}"], 'shape=box, style=filled, fillcolor="#D3D3D3"')
        self.assertEqual(result["u"], 'shape=box, style=filled, fillcolor="#A9A9A9"')
        self.assertTrue(result["out"].endswith('fillcolor="#6495ED"'))
        self.assertTrue(result["join"].startswith("shape=ellipse"))

    def test_edges_join_what_depends_on_each_other(self) -> None:
        x, y = names("xy")
        text = to_dot(Writer("write")(x, y), names_only=True)
        self.assertIn('n0 -> n2 [label="0", color=red];', text)
        self.assertIn('n1 -> n2 [label="1", color=blue];', text)
        self.assertIn("n2 -> n3;", text)

    def test_compact_leaves_out_computed_variables_without_names(self) -> None:
        (x,) = names("x")
        first, second = halves(x)
        out = join(other(first), other(second, name="mid"))
        self.assertEqual(len(shapes(to_dot(out, with_ids=True))), 1 + 4 + 2)
        self.assertEqual(len(shapes(to_dot(out, with_ids=True, compact=False))), 1 + 4 + 5)
        self.assertIn("mid Number(positive=False)", shapes(to_dot(out)))
        self.assertRegex(to_dot(out), r'label="1 to"')

    def test_numbers_borders_and_colours_of_ops(self) -> None:
        (x,) = names("x")
        text = to_dot(join(other(x)), with_ids=True, high_contrast=False, colours={"Join": "orange"})
        self.assertIn("other 0", shapes(text))
        self.assertEqual(shapes(text)["join 1"], 'shape=ellipse, color="orange"')
        out = join(x)
        self.assertIn(', color="green", penwidth=3', shapes(to_dot(out, borders={out.owner: "green"}))["join"])

    def test_text_of_users_is_escaped_and_cut(self) -> None:
        wild = NUMBER.make_variable('a"];\\n\n<b>')
        text = to_dot(wild, names_only=True)
        self.assertIn('label="a\\"];\\\\n\\n<b>"', text)
        self.assertIn('label="xxxxxxx..."', to_dot(NUMBER.make_variable("x" * 99), names_only=True, max_label_size=10))

    def test_a_deep_chain(self) -> None:
        (x,) = names("x")
        self.assertEqual(to_dot(chain(x, 20000)).count("shape=ellipse"), 20000)

    def test_what_is_no_graph_is_refused(self) -> None:
        for make in (to_dot, to_mermaid, to_html):
            with self.subTest(make.__name__), self.assertRaisesRegex(TypeError, "cannot show"):
                make(3)


class TestMermaid(unittest.TestCase):
    def test_a_small_graph(self) -> None:
        x, y = names("xy")
        self.assertEqual(
            to_mermaid(FunctionGraph([x, y], [join(x, y, name="z")])).splitlines(),
            [
                "flowchart TD",
                '  n0["x Number(positive=False)"]:::input',
                '  n1["y Number(positive=False)"]:::input',
                '  n2(["join"]):::apply',
                '  n3["z Number(positive=False)"]:::output',
                '  n0 -->|"0"| n2',
                '  n1 -->|"1"| n2',
                "  n2 --> n3",
                "  classDef input fill:#32CD32,stroke:#333,color:#000",
                "  classDef apply fill:#FFF8DC,stroke:#333,color:#000",
                "  classDef output fill:#6495ED,stroke:#333,color:#000",
            ],
        )

    def test_text_of_users_is_escaped(self) -> None:
        text = to_mermaid(NUMBER.make_variable('a"<b>#&'))
        self.assertIn('"a#quot;#lt;b#gt;#35;#amp; Number(positive=False)"', text)

    def test_a_view_is_a_coloured_edge(self) -> None:
        self.assertIn("  linkStyle 0 stroke:red", to_mermaid(Writer("write")(*names("xy"))))


class TestHtml(unittest.TestCase):
    def test_a_function_graph_shows_itself_escaped(self) -> None:
        wild = NUMBER.make_variable("<script>alert('&')</script>")
        graph = FunctionGraph([wild], [join(wild)])
        text = graph._repr_html_()
        self.assertNotIn("<script", text)
        self.assertIn("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt; [id B]", text)
        self.assertIn("join [id A]", text)
        self.assertEqual(text.count("<span"), 1)

    def test_it_is_bounded(self) -> None:
        (x,) = names("x")
        text = to_html(chain(x, 20000), max_lines=10)
        self.assertEqual(text.count("[id "), 10)
        self.assertIn("<div>...&#8203;</div>", text)

    def test_a_node_is_a_graph(self) -> None:
        node: Apply = join(*names("x")).owner
        self.assertIn("join", to_html(node))
