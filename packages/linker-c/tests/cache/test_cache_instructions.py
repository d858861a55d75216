"""Instructions of stored functions: an object that belongs to one process only is not kept."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

from theano_linker_c._function._disk_entry import BY_NODE, encode_again, tell_instructions
from theano_linker_c.kernels import LoadedKernel

#: Where code lies in one process, and in another.
HERE, THERE = 0x7F12_3456_7890, 0x7F98_7654_3210
FORM = 0


def encoded(payload: Any, code: LoadedKernel | None) -> Any:
    return 3, (0,), (1,), (0,), payload, None, code


class InstructionsTests(unittest.TestCase):
    def tell(self, payload: Any, code: LoadedKernel | None) -> Any:
        return tell_instructions([encoded(payload, code)], [mock.Mock()], lambda _: FORM)

    def elsewhere(self, payload: Any, code: LoadedKernel | None, there: LoadedKernel | None) -> Any:
        """Return the payload as another process has it, where the code is `there`."""
        kinds, rows = self.tell(payload, code)
        (result,) = encode_again(kinds, rows, {FORM: there}, lambda number: encoded(f"of node {number}", there))
        return result[4]

    def test_addresses_of_the_own_code_are_those_of_the_other_process(self) -> None:
        code, there = LoadedKernel("f", HERE, HERE + 64), LoadedKernel("f", THERE, THERE + 80)
        payload = (HERE, HERE + 64, 2, (True, None), 1.5, b"seed")
        self.assertEqual(self.elsewhere(payload, code, there), (THERE, THERE + 80, 2, (True, None), 1.5, b"seed"))

    def test_an_address_of_anything_else_is_found_out_for_the_node(self) -> None:
        code, there = LoadedKernel("f", HERE), LoadedKernel("f", THERE)
        for payload in ((HERE, HERE + 8), (HERE, (1, (2, HERE + 8))), (HERE, (HERE,)), (HERE, -(2**40))):
            with self.subTest(payload):
                self.assertEqual(self.elsewhere(payload, code, there), "of node 0")
        for bare in ((HERE, 1), HERE):
            with self.subTest(bare):
                self.assertEqual(self.elsewhere(bare, None, None), "of node 0")

    def test_objects_are_made_for_the_node(self) -> None:
        kinds, rows = self.tell((1, print), None)
        self.assertEqual((kinds, rows), ([], [(BY_NODE, (0,), (1,), (0,))]))

    def test_small_numbers_are_kept(self) -> None:
        for payload in ((1, -1, 2**32 - 1, -(2**32), (0, (True,))), 7, "text"):
            with self.subTest(payload):
                self.assertEqual(self.elsewhere(payload, None, None), payload)


if __name__ == "__main__":
    unittest.main()
