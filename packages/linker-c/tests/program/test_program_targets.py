"""A third target, written here: linker-c knows nothing of it."""

from __future__ import annotations

import copy
import pickle
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
from support import Elementwise, Python, Reduce, array

from theano_linker_c import In, Linker, Mode, function, shared
from theano_linker_c.kernels import CompilerOptions, ElementwiseKernel, Kernel, native_kernel
from theano_linker_c.linkers import WrapLinker
from theano_linker_c.program import Instruction, KernelForm
from theano_linker_c.scalar import add, mul, tanh
from theano_linker_c.targets import PYTHON, C, Target


class CountingTarget(Target):
    """Takes elementwise kernels, "builds" each into a function of NumPy, counts launches, and keeps a log."""

    def __init__(self, name: str = "counting") -> None:
        super().__init__(name)
        self.builds = 0
        self.log: list[str] = []

    def takes(self, kernel: Kernel) -> bool:
        return isinstance(kernel, ElementwiseKernel)

    def build(self, kernels: Sequence[Kernel], options: CompilerOptions | None = None) -> list[KernelForm | None]:
        self.builds += 1
        return [KernelForm(kernel, self.compiled(kernel)) for kernel in kernels]

    def compiled(self, kernel: Any) -> Any:
        (dtype,) = kernel.output_dtypes

        def launch(values: list[Any]) -> list[Any]:
            self.log.append(f"{kernel.scalar_op.name} on {[value.shape for value in values]}")
            return [np.asarray(kernel.scalar_op.impl(*values), dtype)]

        return launch

    def runner_of(self, instruction: Instruction) -> Any:
        form = instruction.form
        return form.code if isinstance(form, KernelForm) else super().runner_of(instruction)


class TestThirdTarget(unittest.TestCase):
    def setUp(self) -> None:
        self.target = CountingTarget()
        self.mode = Mode(Linker("counting", self.target), None)
        self.x = array("float64", None, name="x")

    def test_a_mode_runs_functions_there(self) -> None:
        y = Elementwise(mul)(Elementwise(tanh)(self.x), self.x)
        f = function([self.x], [Reduce(add, (0,), 0.0)(y), y], mode=self.mode)
        values = np.array([1.0, 2.0, 3.0])
        total, each = f(values)
        np.testing.assert_allclose(each, np.tanh(values) * values)
        np.testing.assert_allclose(total, each.sum())
        self.assertEqual(self.target.log, ["tanh on [(3,)]", "mul on [(3,), (3,)]"])
        self.assertEqual(self.target.builds, 1)
        # Ops without code for the target run their Python code.
        self.assertEqual([i.native for i in f.fn.program.instructions], [True, True, False])

    def test_equal_nodes_are_built_once(self) -> None:
        f = function([self.x], Elementwise(add)(Elementwise(add)(self.x, self.x), self.x), mode=self.mode)
        np.testing.assert_array_equal(f([1.0, 2.0]), [3, 6])
        first, second = (i.form for i in f.fn.program.instructions)
        self.assertIs(first, second)
        self.assertEqual(len(self.target.log), 2)

    def test_rules_of_its_own_come_before_those_of_all(self) -> None:
        class Own(Elementwise):
            pass

        @native_kernel.for_target(self.target).register(Own)
        def _own(node: Any) -> Kernel:
            return ElementwiseKernel(mul, ("float64",) * 2, ("float64",), ((False,),) * 2, 1)

        f = function([self.x], Own(add)(self.x, self.x), mode=self.mode)
        g = function([self.x], Own(add)(self.x, self.x), mode=Mode("cvm", None))
        self.assertEqual((f([3.0]).tolist(), g([3.0]).tolist()), ([9], [6]))

    def test_errors_updates_arguments_and_wrappers_are_as_elsewhere(self) -> None:
        state = shared(np.ones(2), "state")
        state.type = self.x.type
        y = Elementwise(add)(self.x, state)
        f = function([In(self.x, mutable=True)], y, updates=[(state, y)], mode=self.mode)
        np.testing.assert_array_equal(f([1.0, 2.0]), [2, 3])
        np.testing.assert_array_equal(state.get_value(), [2, 3])
        with self.assertRaisesRegex(ValueError, r"(?s)shape.*add|add.*shape|broadcast"):
            f([1.0, 2.0, 3.0])
        seen: list[int] = []

        def around(i: int, node: Any, *thunks: Any) -> None:
            seen.append(i)
            for thunk in thunks:
                thunk()

        g = function([self.x], Elementwise(tanh)(self.x), mode=Mode(WrapLinker(self.mode.linker, around), None))
        before = len(self.target.log)
        np.testing.assert_allclose(g([1.0]), np.tanh([1.0]))
        self.assertEqual((seen, len(self.target.log)), ([0], before + 1))

    def test_ops_without_any_kernel(self) -> None:
        f = function([self.x], Python(np.flip, self.x.type)(self.x), mode=self.mode)
        self.assertEqual((f([1.0, 2.0]).tolist(), self.target.builds), ([2, 1], 0))


class TestTargets(unittest.TestCase):
    def test_targets_are_equal_by_name_and_class(self) -> None:
        for target in (C, PYTHON, CountingTarget("a")):
            self.assertEqual(pickle.loads(pickle.dumps(target)), target)
        self.assertEqual(len({C, PYTHON, CountingTarget("a"), CountingTarget("b"), CountingTarget("a")}), 4)
        self.assertEqual(repr(PYTHON), "<target python>")
        self.assertIs(PYTHON.present, PYTHON)

    def test_linkers_are_pickled_with_their_targets(self) -> None:
        for target in (C, PYTHON, CountingTarget("counting")):
            linker = Linker("mine", target)
            self.assertEqual(pickle.loads(pickle.dumps(linker)), linker)
            self.assertEqual(copy.copy(linker).target, target)
        # Archives that load safely name no class of targets.
        self.assertNotIn(b"targets", pickle.dumps(Linker("mine", PYTHON)))


if __name__ == "__main__":
    unittest.main()
