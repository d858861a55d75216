"""Descriptions of convolutions and pooling, and descriptions that the runtime refuses."""

from __future__ import annotations

import unittest
from typing import Any

import theano_linker_c._runtime as runtime
from theano_linker_c.kernels import (
    CONVOLUTION_TASKS,
    POOLING_MODES,
    POOLING_TASKS,
    ConvolutionKernel,
    PoolingKernel,
    build,
)

FLOAT32, INT64 = 11, 7


def make_machine(name: str, payload: tuple[Any, ...], inputs: int) -> Any:
    """Make a machine with one instruction."""
    numbers = tuple(range(inputs))
    return runtime.Machine(
        n_registers=inputs + 1,
        inputs=tuple((i, -1, False, False, False, ()) for i in numbers),
        cells=(),
        constants=(),
        instructions=((runtime.INSTRUCTIONS[name][0], numbers, (inputs,), (), payload, None, None),),
        outputs=(inputs,),
        updates=(),
        single=False,
        on_irregular=print,
        on_input=lambda i, value: value,
        on_result=lambda i, k, value, replaced: value,
        on_error=lambda i, values, error: error,
        finish=None,
        buffer_limit=0,
        thread_scale=1.0,
        locks=(),
    )


class TestDescriptions(unittest.TestCase):
    def test_they_compare_by_value_and_need_no_code(self) -> None:
        kernel = ConvolutionKernel("forward", "float32", (1, 2), (1, 1), "half")
        self.assertEqual(kernel, ConvolutionKernel("forward", "float32", (1, 2), (1, 1), "half", False, 1))
        self.assertNotEqual(kernel, ConvolutionKernel("weight_grad", "float32", (1, 2), (1, 1), "half"))
        pooling = PoolingKernel("pool", "float64", 2, "max", True)
        self.assertNotEqual(pooling, PoolingKernel("pool", "float64", 2, "sum", True))
        for each in (kernel, pooling):
            self.assertFalse(each.needs_code)
            self.assertEqual(build([each])[0].address, 0)  # type: ignore[union-attr]

    def test_borders(self) -> None:
        for border, sides in (
            ("valid", ((0, 0), (0, 0))),
            ("half", ((-1, -1), (-1, -1))),
            ("full", ((-2, -2), (-2, -2))),
            (((1, 2), (3, 4)), ((1, 3), (2, 4))),
        ):
            self.assertEqual(ConvolutionKernel("forward", "float32", (1, 1), (1, 1), border).sides, sides)

    def test_numbers_are_places(self) -> None:
        self.assertEqual([CONVOLUTION_TASKS.index(t) for t in ("forward", "input_grad", "weight_grad")], [0, 1, 2])
        self.assertEqual(
            [POOLING_TASKS.index(t) for t in ("pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad")],
            [0, 1, 2, 3],
        )
        self.assertEqual(POOLING_MODES[0], "max")


class TestRefused(unittest.TestCase):
    def test_payloads_of_convolutions(self) -> None:
        one = (1, 1)
        good = (0, FLOAT32, 1, 1, one, one, one, one, print)
        make_machine("convolution", good, 2)
        changes: tuple[tuple[int, Any], ...] = (
            (0, 3),
            (0, 1),
            (1, INT64),
            (3, 0),
            (4, (1, 0)),
            (4, (1, 1, 1, 1)),
            (4, ()),
            (5, (1,)),
            (5, (0, 1)),
            (6, (-3, 0)),
            (7, (1 << 30, 0)),
        )
        for position, value in changes:
            payload = (*good[:position], value, *good[position + 1 :])
            with self.subTest(place=position, value=value), self.assertRaisesRegex(ValueError, "convolution payload"):
                make_machine("convolution", payload, 2)
        with self.assertRaisesRegex(ValueError, "convolution payload"):
            make_machine("convolution", good, 3)
        with self.assertRaises(TypeError):
            make_machine("convolution", ("0", *good[1:]), 2)

    def test_payloads_of_pooling(self) -> None:
        good = (0, FLOAT32, 2, 0, True, print)
        make_machine("pooling", good, 4)
        for position, value in ((0, 4), (0, 2), (1, INT64), (2, 0), (2, 4), (3, 4), (3, -1)):
            payload = (*good[:position], value, *good[position + 1 :])
            with self.subTest(place=position, value=value), self.assertRaisesRegex(ValueError, "pooling payload"):
                make_machine("pooling", payload, 4)
        with self.assertRaises(TypeError):
            make_machine("pooling", good[:-1], 4)


if __name__ == "__main__":
    unittest.main()
