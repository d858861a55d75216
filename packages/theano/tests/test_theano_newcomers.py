"""What people try on the first day, and what they are told."""

from __future__ import annotations

import operator
import re
import unittest

import theano
import theano.tensor as T
from theano_tensor._protocols._numpy_advice import ADVICE


class TestAdvice(unittest.TestCase):
    def test_named_functions_exist(self) -> None:
        for name, advice in ADVICE.items():
            for found in re.findall(r"\b(?:T|theano)((?:\.[A-Za-z_]\w*)+)", advice):
                with self.subTest(name, found=found):
                    root = theano if f"theano{found}" in advice else T
                    self.assertTrue(callable(operator.attrgetter(found[1:])(root)))
