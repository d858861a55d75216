"""Contents of arrays and types of devices that archives may not have."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray import archives
from theano_graph import UnsafeArchiveError, config
from theano_graph.safe_loading import ClassWord

NAME = "nowhere"


class TestRefusals(unittest.TestCase):
    def test_what_is_no_array_and_no_type(self) -> None:
        reader: Any = None
        word = ClassWord("theano_tensor._core._type", "TensorType")
        kind = ClassWord("theano_gpuarray.types._array_type", "GpuArrayType")
        state = {"dtype": "float64", "shape": (None,), "context_name": NAME, "name": None}
        cases: list[tuple[Any, tuple[Any, ...]]] = [
            (archives._array, ([1, 2], NAME)),
            (archives._array, (np.array([object()]), NAME)),
            (archives._array, (np.zeros(2), 7)),
            (archives._type, (word, state)),
            (archives._type, (kind, [])),
            (archives._type, (kind, {**state, "shape": (-1,)})),
            (archives._type, (kind, {**state, "shape": (None,) * 65})),
            (archives._type, (kind, {**state, "more": 1})),
        ]
        for called, arguments in cases:
            with self.subTest(arguments=arguments), self.assertRaises(UnsafeArchiveError):
                called(reader, *arguments)

    def test_contexts_that_are_missing(self) -> None:
        reader: Any = None
        with self.assertRaisesRegex(UnsafeArchiveError, "the context 'nowhere', which is not here"):
            archives._array(reader, np.zeros(2), NAME)
        with self.assertRaisesRegex(UnsafeArchiveError, "THEANO_FLAGS='device=cuda0'"):
            archives._array(reader, np.zeros(2), None)
        with config.change_flags(**{"experimental.unpickle_gpu_on_cpu": True}):
            self.assertIsInstance(archives._array(reader, np.zeros(2), NAME), np.ndarray)


if __name__ == "__main__":
    unittest.main()
