"""Records of ops computed on a device: a part of them, since all take ten minutes.

These are all records of products and indices, and some of the others, so that each way of computing is met. Where
`THEANO_TEST_DEVICE` names a device, all records run there, each with its other tests. The long form takes
twice as many.
"""

from __future__ import annotations

import importlib
import unittest

import theano_testing.tensor as testing
from theano_testing.tiers import is_long, slow

from .contexts import computes

#: Modules of records -> which of them are taken: each of so many.
_MODULES = {
    "indexing.test_index_records": 1,
    "signal_ops.test_pooling": 3,
    "test_creation": 2,
    "test_op_records": 12,
    "test_products": 1,
}


def records(module: str) -> list[testing.OpRecord]:
    """Return the records that the tests of a module are made of."""
    result = vars(importlib.import_module(module)).values()
    return [
        c.record for c in result if isinstance(c, type) and issubclass(c, testing.OpTestCase) and hasattr(c, "record")
    ]


class TestRecords(unittest.TestCase):
    @slow
    def test_results_agree_with_the_reference(self) -> None:
        for module, step in _MODULES.items():
            result = records(module)
            self.assertTrue(result, module)
            for record in result[step - 1 :: step if is_long() else 2 * step]:
                with self.subTest(record=record.name):
                    if computes():
                        testing.check_on_device(record, "opencl0:0")


if __name__ == "__main__":
    unittest.main()
