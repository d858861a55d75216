"""In which order nodes run, and in which order they are shown."""

from __future__ import annotations

import unittest

import numpy as np

from theano_linker_c import Mode, function, shared
from theano_tensor import add, exp, inc_subtensor, lvector, matrix, sub, vector


class TestOrder(unittest.TestCase):
    def test_terms_of_a_sum_are_made_one_by_one(self) -> None:
        x = matrix("x")
        total = x
        for k in range(6):
            total = add(total, exp(x * k))
        for linker in ("cvm", "py"):
            f = function([x], total, mode=Mode(linker=linker, optimizer=None))
            alive = most = 0
            for instruction in f.fn.program.instructions:
                alive += len(instruction.outputs)
                most = max(most, alive)
                alive -= sum(r != f.fn.program.inputs[0].register for r in instruction.release)
            self.assertLess(most, 6)
            np.testing.assert_allclose(f(np.ones((2, 2))), 1 + sum(np.exp(np.ones((2, 2)) * k) for k in range(6)))

    def test_positions_agree_with_the_order_that_is_shown(self) -> None:
        x, y = vector("x"), vector("y")
        for linker in ("cvm", "py"):
            f = function([x, y], sub(exp(x + y), exp(x * 2)), mode=Mode(linker=linker, optimizer=None))
            self.assertEqual(f.fn.position_of_error, -1)
            with self.assertRaises(ValueError) as caught:
                f([1.0, 2.0], [1.0, 2.0, 3.0])
            position = f.fn.position_of_error
            order = f.maker.fgraph.toposort()
            self.assertEqual(f.fn.nodes, order)
            self.assertEqual([thunk.node for thunk in f.fn.thunks], order)
            self.assertEqual([v.name for v in order[position].inputs], ["x", "y"])
            self.assertEqual(f.fn.thunks[position].inputs[1][0].tolist(), [1, 2, 3])
            self.assertIn(f"Toposort index: {position}, of {len(order)} nodes", str(caught.exception))
            self.assertNotEqual([i.node for i in f.fn.program.instructions], order)

    def test_writes_that_wait_and_read_each_others_variables_have_an_order(self) -> None:
        values, i = np.arange(12.0).reshape(4, 3), lvector("i")
        for across in (False, True):
            results = []
            for mode in ("FAST_RUN", "FAST_COMPILE"):
                w, v = shared(values.copy(), "w"), shared(values[::-1].copy(), "v")
                first = inc_subtensor(w[i], v[0] if across else 1.0)
                new = first if across else inc_subtensor(first[0], w[1])
                f = function([i], [], updates=[(w, new), (v, inc_subtensor(v[i], w[0]))], mode=mode)
                for _ in range(3):
                    for rows in ([0, 0], [3, 1], [1, 1, 0]):
                        f(rows)
                # Ops that overwrite come after all who read, which is an error where it cannot be.
                self.assertEqual(f.fn.nodes, f.maker.fgraph.toposort())
                results.append((w.get_value(), v.get_value()))
            np.testing.assert_allclose(results[0], results[1])


if __name__ == "__main__":
    unittest.main()
