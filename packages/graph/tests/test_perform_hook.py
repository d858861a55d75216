"""The hook that computes nodes whose op has no `perform`, and ops that say they have no parameters."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, MissingRuleError, NoParams, Op, config, generic, get_test_value, set_perform_hook


class Silent(Op):
    __props__ = ()
    itypes = (generic,)
    otypes = (generic,)


class TestHook(unittest.TestCase):
    def test_it_is_asked_where_perform_is_missing(self) -> None:
        def double(node: Apply, inputs: Sequence[Any], storage: Sequence[list[Any]]) -> bool:
            storage[0][0] = 2 * inputs[0]
            return bool(inputs[0] != 13)

        set_perform_hook(double)
        self.addCleanup(set_perform_hook, None)
        with config.change_flags(compute_test_value="raise"):
            self.assertEqual(get_test_value(Silent()(generic.make_constant(4))), 8)
            with self.assertRaisesRegex(MissingRuleError, "Silent cannot be run: it has no `perform`"):
                Silent()(generic.make_constant(13))

    def test_without_it(self) -> None:
        set_perform_hook(None)
        node = Silent()(generic("x")).owner
        with self.assertRaisesRegex(MissingRuleError, "define Silent.perform"):
            node.op.perform(node, [1], [[None]])


class TestParams(unittest.TestCase):
    def test_none_means_no_parameters(self) -> None:
        class Unsure(Op):
            params_type = generic
            itypes = (generic,)
            otypes = (generic,)

            def get_params(self, node: Apply) -> Any:
                return None if node.inputs[0].name == "none" else 3

            def perform(self, node: Apply, inputs: Any, output_storage: Any, *params: Any) -> None:
                output_storage[0][0] = (inputs[0], *params)

        self.assertIs(Unsure()(generic("none")).owner.run_params(), NoParams)
        self.assertEqual(Unsure()(generic("some")).owner.run_params(), 3)
        with config.change_flags(compute_test_value="raise"):
            self.assertEqual(get_test_value(Unsure()(generic.make_constant(1, name="none"))), (1,))
            self.assertEqual(get_test_value(Unsure()(generic.make_constant(1))), (1, 3))
