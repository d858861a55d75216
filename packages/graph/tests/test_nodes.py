from __future__ import annotations

import copy
import os
import pickle
import unittest
from typing import Any, get_args, get_origin

from support import NUMBER, POSITIVE, Join, halves, join, names

from theano_graph import (
    Apply,
    Constant,
    Generic,
    GraphError,
    MissingRuleError,
    Op,
    Origin,
    Type,
    Variable,
    begin_origin_from,
    connection_pattern,
    describe,
    end_origin,
    inherited_origin,
    is_variable,
    origin_from,
)

HERE = os.path.basename(__file__)


class TestType(unittest.TestCase):
    def test_plain_type_accepts_everything(self) -> None:
        value = object()
        self.assertIs(Type().filter(value), value)
        self.assertTrue(Type().is_valid_value(None))

    def test_equality_is_by_value(self) -> None:
        self.assertEqual(Generic(), Generic())
        self.assertEqual(hash(Generic()), hash(Generic()))
        self.assertNotEqual(NUMBER, POSITIVE)

    def test_filter_variable_takes_values_and_refinements(self) -> None:
        p = POSITIVE.make_variable("p")
        self.assertIs(NUMBER.filter_variable(p), p)
        constant = NUMBER.filter_variable(3)
        assert isinstance(constant, Constant), "a plain value becomes a constant"
        self.assertEqual(constant.data, 3)

    def test_filter_variable_names_what_does_not_fit(self) -> None:
        x = NUMBER.make_variable("x")
        with self.assertRaisesRegex(
            TypeError, rf"(?s)number cannot stand where positive.*`x` made at {HERE}:\d+.*Hint"
        ):
            POSITIVE.filter_variable(x)
        with self.assertRaisesRegex(ValueError, "not positive"):
            POSITIVE.filter_variable(-1)


class TestVariable(unittest.TestCase):
    def test_name_must_be_text(self) -> None:
        with self.assertRaisesRegex(TypeError, "name of a variable is a string"):
            Variable(NUMBER, name=3)  # type: ignore[arg-type]  # the wrong type is what is tested

    def test_owner_and_index_come_together(self) -> None:
        with self.assertRaises(GraphError):
            Variable(NUMBER, index=0)

    def test_clone_copies_name_and_tag(self) -> None:
        x = NUMBER.make_variable("x")
        x.tag.note = "kept"
        y = x.clone()
        self.assertIsNot(x, y)
        self.assertEqual((y.name, y.tag.note, y.owner), ("x", "kept", None))
        y.tag.note = "changed"
        self.assertEqual(x.tag.note, "kept")

    def test_text(self) -> None:
        x = NUMBER.make_variable()
        self.assertEqual(str(x), "<number>")
        self.assertEqual(str(join(x)), "join.0")
        self.assertEqual(str(halves(x)[1]), "Halves.1")

    def test_eval_needs_an_upper_layer(self) -> None:
        with self.assertRaisesRegex(GraphError, "layer that runs graphs"):
            NUMBER.make_variable("x").eval()

    def test_is_variable(self) -> None:
        self.assertTrue(is_variable(NUMBER.make_variable()))
        self.assertFalse(is_variable(3))


class TestOwnAttributes(unittest.TestCase):
    def test_programs_may_add_attributes(self) -> None:
        x: Any = Generic()("x")
        self.assertEqual(vars(x), {})
        x.shape_of_a_program = (3, None)
        self.assertEqual(pickle.loads(pickle.dumps(x)).shape_of_a_program, (3, None))
        self.assertEqual(copy.deepcopy(x).shape_of_a_program, (3, None))
        self.assertFalse(hasattr(x.clone(), "shape_of_a_program"))


class TestConstant(unittest.TestCase):
    def test_value_is_filtered(self) -> None:
        with self.assertRaisesRegex(TypeError, "not an integer"):
            NUMBER.make_constant("text")

    def test_signature_tells_types_and_values_apart(self) -> None:
        three = NUMBER.make_constant(3)
        self.assertEqual(three.signature(), NUMBER.make_constant(3).signature())
        self.assertNotEqual(three.signature(), NUMBER.make_constant(4).signature())
        self.assertNotEqual(three.signature(), POSITIVE.make_constant(3).signature())

    def test_signature_of_unhashable_data_is_its_identity(self) -> None:
        data: list[int] = []
        a, b = Generic().make_constant(data), Generic().make_constant([])
        self.assertEqual(a.signature(), Generic().make_constant(data).signature())
        self.assertNotEqual(a.signature(), b.signature())

    def test_clone_shares_data(self) -> None:
        data = [1]
        constant = Generic().make_constant(data, name="c")
        copy = constant.clone()
        self.assertIs(copy.data, data)
        self.assertEqual(copy.name, "c")
        self.assertIsNot(copy, constant)

    def test_long_values_print_short(self) -> None:
        self.assertLess(len(str(Generic().make_constant("x" * 1000))), 60)


class TestValueOfConstants(unittest.TestCase):
    def test_it_is_set_once(self) -> None:
        constant: Any = NUMBER.make_constant(2, "two")
        for name in ("data", "value"):
            with self.assertRaises(AttributeError):
                setattr(constant, name, 3)
        with self.assertRaisesRegex(AttributeError, "set once[^$]*`two`: number[^$]*make_constant"):
            constant.data = 2
        for copied in (constant, constant.clone(), copy.copy(constant), copy.deepcopy(constant)):
            self.assertEqual((copied.data, copied.value), (2, 2))
        self.assertEqual(pickle.loads(pickle.dumps(constant)).data, 2)


class TestApply(unittest.TestCase):
    def test_outputs_know_their_owner(self) -> None:
        first, second = halves(names("x")[0])
        self.assertIs(first.owner, second.owner)
        self.assertEqual((first.index, second.index), (0, 1))

    def test_output_of_another_node_is_refused(self) -> None:
        y = join(names("x")[0])
        with self.assertRaisesRegex(GraphError, "already belongs to another node"):
            Apply(join, [], [y])

    def test_inputs_must_be_variables(self) -> None:
        with self.assertRaisesRegex(TypeError, rf"(?s)input 1 of join is no variable: 3.*{HERE}"):
            Apply(join, [names("x")[0], 3], [])  # type: ignore[type-var]  # the wrong type is what is tested

    def test_parameters_are_for_type_checkers(self) -> None:
        node: Apply[Op, Variable] = join(names("x")[0]).owner
        self.assertIs(type(node), Apply)
        self.assertIs(get_origin(Apply[Op, Variable]), Apply)
        self.assertEqual(get_args(Apply[Op]), (Op, Any))  # as in an annotation that Python evaluates
        self.assertFalse(hasattr(node, "__dict__"))
        again = pickle.loads(pickle.dumps(node))
        self.assertIs(type(again), Apply)
        self.assertEqual(again.op, node.op)

    def test_default_output(self) -> None:
        node = join(names("x")[0]).owner
        self.assertIs(node.out, node.outputs[0])
        with self.assertRaisesRegex(AttributeError, "2 outputs and no default_output"):
            halves(names("x")[0])[0].owner.default_output()

    def test_clone_with_new_inputs(self) -> None:
        x, y = names("xy")
        node = join(x, x).owner
        copy = node.clone_with_new_inputs([y, x])
        self.assertEqual(copy.inputs, [y, x])
        self.assertIsNot(copy.outputs[0], node.outputs[0])
        self.assertEqual(node.inputs, [x, x])

    def test_clones_have_scratchpads_and_origins_of_their_own(self) -> None:
        x, y = names("xy")
        node = join(x, x).owner
        node.tag.note, node.outputs[0].tag.note, node.outputs[0].name = "node", "output", "both"
        for twin in (node.clone(), node.clone_with_new_inputs([y, x])):
            output = twin.outputs[0]
            self.assertEqual((twin.op, twin.origin, output.origin), (node.op, node.origin, node.origin))
            self.assertEqual((output.owner, output.index, output.name), (twin, 0, "both"))
            self.assertEqual((twin.tag.note, output.tag.note), ("node", "output"))
            twin.tag.note = "changed"
            self.assertEqual(node.tag.note, "node")

    def test_clones_of_nodes_of_a_class_of_ones_own_keep_its_attributes(self) -> None:
        class Noted(Apply):
            __slots__ = ("note",)
            note: str

        x = names("x")[0]
        result = join(x).owner
        node = Noted(result.op, [x], [NUMBER.make_variable()])
        node.note = "kept"
        copy = node.clone()
        assert isinstance(copy, Noted)
        self.assertEqual((copy.note, copy.inputs), ("kept", [x]))

    def test_clone_with_wrong_number_of_inputs(self) -> None:
        x = names("x")[0]
        with self.assertRaisesRegex(GraphError, "given 1 inputs in place of 2"):
            join(x, x).owner.clone_with_new_inputs([x])


class TestOp(unittest.TestCase):
    def test_props_make_ops_equal(self) -> None:
        self.assertEqual(Join("a"), Join("a"))
        self.assertEqual(hash(Join("a")), hash(Join("a")))
        self.assertNotEqual(Join("a"), Join("b"))

    def test_without_props_identity_decides(self) -> None:
        class Plain(Op):
            pass

        self.assertNotEqual(Plain(), Plain())

    def test_itypes_make_the_node(self) -> None:
        class Typed(Op):
            itypes = (NUMBER, POSITIVE)
            otypes = (POSITIVE,)

        y = Typed()(1, 2)
        self.assertEqual(y.type, POSITIVE)
        with self.assertRaisesRegex(TypeError, "takes 2 inputs, got 1"):
            Typed()(1)

    def test_call_options(self) -> None:
        x = names("x")[0]
        self.assertEqual(join(x, name="y").name, "y")
        self.assertEqual(len(join(x, return_list=True)), 1)
        with self.assertRaisesRegex(TypeError, "one name cannot serve"):
            halves(x, name="y")

    def test_missing_methods_are_named(self) -> None:
        class Empty(Op):
            __props__ = ()

        with self.assertRaisesRegex(MissingRuleError, "neither make_node nor itypes"):
            Empty()()
        with self.assertRaisesRegex(MissingRuleError, "has no `perform`"):
            join.perform(join(1).owner, [1], [[None]])

    def test_connection_pattern(self) -> None:
        node = halves(names("x")[0])[0].owner
        self.assertEqual(connection_pattern(node), [[True, True]])

        class Odd(Join):
            def connection_pattern(self, node: Apply) -> Any:
                return [[True, True]]

        with self.assertRaisesRegex(GraphError, "wrong form"):
            connection_pattern(Odd()(1).owner)


class TestOrigin(unittest.TestCase):
    def test_points_at_this_file(self) -> None:
        x = names("x")[0]
        y = join(x)
        self.assertIsNotNone(y.origin)
        self.assertEqual(os.path.basename(y.origin.filename), HERE)
        self.assertEqual(y.owner.origin, y.origin)
        self.assertIn(f"made at {HERE}:{y.origin.lineno}", describe(y))

    def test_inherited_origin(self) -> None:
        x = names("x")[0]
        y = join(x)
        with origin_from(y):
            z = join(x)
        self.assertIs(z.origin, y.origin)
        with origin_from(None):
            self.assertNotEqual(join(x).origin.lineno, y.origin.lineno)

    def test_inherited_origin_of_engines(self) -> None:
        x = names("x")[0]
        y = join(x)
        before = inherited_origin()
        begin_origin_from(y.owner)
        z = join(x)
        end_origin(before)
        self.assertIs(z.origin, y.origin)
        self.assertNotEqual(join(x).origin.lineno, y.origin.lineno)
        y.owner.origin = None
        begin_origin_from(y.owner)
        self.assertIsNone(inherited_origin())

    def test_survives_pickling(self) -> None:
        y = join(names("x")[0], name="y")
        copy = pickle.loads(pickle.dumps(y))
        self.assertEqual(copy.origin, y.origin)
        self.assertIsInstance(copy.origin, Origin)
        self.assertEqual((copy.name, copy.owner.op, copy.owner.inputs[0].name), ("y", join, "x"))
        self.assertIs(copy.owner.outputs[0], copy)
