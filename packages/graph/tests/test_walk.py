from __future__ import annotations

import io
import unittest

from support import NUMBER, POSITIVE, Join, chain, halves, join, names, ops_of, other

from theano_graph import (
    CycleError,
    DuplicateRuleError,
    FunctionGraph,
    GraphError,
    MissingRuleError,
    RuleTable,
    ancestors,
    as_string,
    clone_graph,
    clone_replace,
    debugprint,
    equal_computations,
    general_toposort,
    graph_inputs,
    is_in_ancestors,
    is_same_graph,
    orphans_between,
    toposort,
    variables_between,
    view_roots,
)


class TestWalks(unittest.TestCase):
    def test_ancestors_stop_at_blockers(self) -> None:
        x, y = names("xy")
        mid = join(x, y)
        out = other(mid, y)
        self.assertEqual(ancestors([out]), [out, mid, x, y])
        self.assertEqual(ancestors([out], [mid]), [out, mid, y])
        self.assertEqual(graph_inputs([out]), [x, y])

    def test_orphans_and_variables(self) -> None:
        x, y = names("xy")
        out = join(x, y)
        self.assertEqual(orphans_between([x], [out]), [y])
        self.assertEqual(set(variables_between([x], [out])), {x, y, out})

    def test_toposort_is_the_same_each_time(self) -> None:
        x = names("x")[0]
        out = join(other(x), join(x), halves(x)[1])
        self.assertEqual(ops_of(toposort([x], [out])), ["other", "join", "Halves", "join"])
        self.assertEqual(toposort([out], [out]), [])

    def test_general_toposort(self) -> None:
        self.assertEqual(general_toposort([4], lambda n: range(n)), [0, 1, 2, 3, 4])
        with self.assertRaises(CycleError):
            general_toposort([0], lambda n: [(n + 1) % 3])

    def test_is_in_ancestors(self) -> None:
        x = names("x")[0]
        mid = join(x)
        self.assertTrue(is_in_ancestors(other(mid), mid.owner))
        self.assertFalse(is_in_ancestors(mid, other(mid).owner))

    def test_view_roots(self) -> None:
        class View(Join):
            view_map = {0: [0]}

        x, y = names("xy")
        base = join(x)
        self.assertEqual(view_roots(View()(View()(base, y))), [base])
        self.assertEqual(view_roots(x), [x])

    def test_as_string_marks_shared_parts(self) -> None:
        x, y = names("xy")
        shared = join(x, y)
        self.assertEqual(as_string([x, y], [other(shared, shared)]), ["other(*1 -> join(x, y), *1)"])
        self.assertEqual(as_string([shared], [other(shared)]), [f"other({shared})"])


class TestClone(unittest.TestCase):
    def test_clone_graph(self) -> None:
        x, y = names("xy")
        out = join(x, other(y))
        (x2, y2), (out2,) = clone_graph([x, y], [out])
        self.assertTrue(equal_computations([out], [out2], [x, y], [x2, y2]))
        self.assertIsNot(x, x2)
        (x3,), (out3,) = clone_graph([x], [out], copy_inputs=False)
        self.assertIs(x3, x)
        self.assertIn(y, graph_inputs([out3]))

    def test_clone_replace_shares_the_rest(self) -> None:
        x, y = names("xy")
        saved = other(y)
        out = join(x, saved)
        new = clone_replace(out, {x: y})
        self.assertEqual(new.owner.inputs, [y, saved])
        self.assertIs(clone_replace(out, {}), out)
        self.assertEqual(out.owner.inputs, [x, saved])

    def test_clone_replace_is_not_repeated(self) -> None:
        x, y = names("xy")
        swapped = clone_replace([join(x, y)], {x: y, y: x})[0]
        self.assertEqual(swapped.owner.inputs, [y, x])

    def test_clone_replace_checks(self) -> None:
        p = POSITIVE.make_variable("p")
        with self.assertRaisesRegex(TypeError, "cannot stand where positive"):
            clone_replace(join(p), {p: NUMBER.make_variable("x")})
        with self.assertRaisesRegex(GraphError, "only variables can be replaced"):
            clone_replace(join(p), {"p": p})

    def test_equal_computations(self) -> None:
        x, y = names("xy")
        self.assertTrue(equal_computations([join(x, 1)], [join(x, 1)]))
        self.assertFalse(equal_computations([join(x, 1)], [join(x, 2)]))
        self.assertFalse(equal_computations([join(x)], [other(x)]))
        self.assertFalse(equal_computations([join(x)], [join(y)]))
        self.assertTrue(equal_computations([join(x)], [join(y)], [x], [y]))
        self.assertFalse(equal_computations([x], [x, x]))

    def test_is_same_graph_with_givens(self) -> None:
        x, y = names("xy")
        self.assertFalse(is_same_graph(join(x), join(y)))
        self.assertTrue(is_same_graph(join(x), join(y), {x: y}))


class TestRules(unittest.TestCase):
    def test_lookup_follows_the_classes(self) -> None:
        class Special(Join):
            pass

        table: RuleTable[str] = RuleTable("speed")
        table.register(Join)("slow")
        self.assertEqual(table.lookup(Special()), "slow")
        table.register(Special)("fast")
        self.assertEqual(table.lookup(Special()), "fast")
        self.assertEqual(table.classes(), (Join, Special))

    def test_errors_name_table_and_op(self) -> None:
        table: RuleTable[str] = RuleTable("speed")
        with self.assertRaisesRegex(
            MissingRuleError, r"(?s)op join .*no rule in table `speed`.*@speed.register\(Join\)"
        ):
            table.lookup(join)
        table.declare_absent(Join, "integers have none")
        with self.assertRaisesRegex(MissingRuleError, "integers have none"):
            table.lookup(join)
        self.assertIsNone(table.get(join))
        with self.assertRaisesRegex(DuplicateRuleError, "already has an entry"):
            table.register(Join)("fast")


class TestDebugprint(unittest.TestCase):
    def test_tree(self) -> None:
        x, y = names("xy")
        shared = join(x, y)
        text = debugprint(other(shared, halves(shared)[1], name="out"), file="str")
        self.assertEqual(
            text,
            "other [id A] 'out'   \n |join [id B] ''   \n | |x [id C]\n | |y [id D]\n"
            " |Halves.1 [id E] ''   \n   |join [id B] ''   \n",
        )

    def test_options(self) -> None:
        x = names("x")[0]
        out = join(other(x, name="mid"))
        self.assertEqual(debugprint(out, depth=1, file="str"), "join [id A] ''   \n")
        self.assertEqual(debugprint(out, stop_on_name=True, ids="", file="str"), "join  ''   \n |other  'mid'   \n")
        self.assertIn("x [id 2] <Number(positive=False)>", str(debugprint(out, print_type=True, ids="int", file="str")))
        self.assertIn("other [id B] 'mid'   0", str(debugprint(FunctionGraph([x], [out]), file="str")))
        stream = io.StringIO()
        self.assertIs(debugprint([out, x], file=stream), stream)
        self.assertEqual(stream.getvalue().count("\n"), 4)

    def test_bad_arguments(self) -> None:
        with self.assertRaisesRegex(TypeError, "cannot show an object of type int"):
            debugprint(3)
        with self.assertRaisesRegex(ValueError, "ids cannot be 'letters'"):
            debugprint(names("x")[0], ids="letters")  # type: ignore[arg-type]  # the wrong value is what is tested

    def test_deep_graph(self) -> None:
        x = names("x")[0]
        self.assertEqual(str(debugprint(chain(x, 3000), file="str")).count("join"), 3000)
