"""Kernels as statements: golden texts, the rules of the loop IR, and joined launches."""

from __future__ import annotations

import unittest

from theano_gpuarray.codegen import KernelText
from theano_gpuarray.codegen._layouts import ReduceLayout
from theano_gpuarray.codegen._reduction_text import reduction_text
from theano_gpuarray.codegen.elementwise import Layout, elementwise_text
from theano_gpuarray.codegen.reduction import ReduceJob
from theano_gpuarray.codegen.text import Signature, joined_text
from theano_linker_c.codegen import IRError, verify, verify_exports
from theano_linker_c.codegen.ir import Buffer, Index, Store, value_of_text
from theano_linker_c.kernels import ElementwiseKernel, Reduction
from theano_linker_c.scalar import add, exp, maximum, program_for

verify_exports()
ADD = ElementwiseKernel(add, ("float32",) * 2, ("float32",), ((False,) * 2,) * 2, 2)
MODES = ("contiguous", "strided", "contiguous")
SUM, LARGEST = Reduction(add, "float64", "float32", 0), Reduction(maximum, "float32", "float32", None)


def job(reduction: Reduction) -> ReduceJob:
    """Return a reduction of exponentials of float32."""
    return ReduceJob(program_for(exp, ("float32",)), ("float32",), (), (reduction,))


def statements(text: KernelText) -> list[str]:
    """Return the lines of a kernel behind its parameters and the pointers to first elements."""
    lines = text.text[text.text.index("KERNEL") :].splitlines()[1:-1]
    return [line.strip() for line in lines if "_memory + " not in line]


class TestGolden(unittest.TestCase):
    def check(self, text: KernelText, golden: str) -> None:
        self.assertEqual(statements(text), [line.strip() for line in golden.strip().splitlines()])

    def test_elements_on_a_card(self) -> None:
        golden = """
            const uint32_t n = (uint32_t)n0 * (uint32_t)n1;
            const uint32_t base = (uint32_t)GID_0 * (LDIM_0 * 2);
            float v0[2];
            float v1[2];
            #pragma unroll
            for (int k = 0; k < 2; k++) {
              const uint32_t place = base + k * LDIM_0 + LID_0;
              const uint32_t i = place < n ? place : n - 1;
              const uint32_t j_rest1 = i / (uint32_t)n1;
              const int32_t j1 = (int32_t)(i - j_rest1 * (uint32_t)n1);
              const int32_t j0 = (int32_t)j_rest1;
              const int32_t o1 = j0 * s1_0 + j1 * s1_1;
              v0[k] = p0[i];
              v1[k] = ((GLOBAL_MEM const float *)(p1 + o1))[0];
            }
            #pragma unroll
            for (int k = 0; k < 2; k++) {
              const uint32_t i = base + k * LDIM_0 + LID_0;
              if (i < n) {
                const float x0 = v0[k];
                const float x1 = v1[k];
                const float t0 = x0 + x1;
                p2[i] = t0;
              }
            }
        """
        self.check(elementwise_text(ADD, Layout(2, MODES, True, False, 2, apart=True)), golden)

    def test_rows_on_a_processor(self) -> None:
        golden = """
            for (int64_t unit = GID_0; unit < units; unit += GDIM_0) {
              const uint32_t row = (uint32_t)(unit / pieces);
              const int32_t begin = (int32_t)(unit % pieces * piece);
              const int32_t end = begin + piece < n1 ? (int32_t)(begin + piece) : n1;
              const int32_t j0 = (int32_t)row;
              GLOBAL_MEM const float *const q0 = (GLOBAL_MEM const float *)(p0 + (j0 * s0_0));
              GLOBAL_MEM const char *const q1 = (GLOBAL_MEM const char *)(p1 + (j0 * s1_0));
              GLOBAL_MEM float *const q2 = (GLOBAL_MEM float *)(p2 + (j0 * s2_0));
              for (int32_t i = begin; i < end; i++) {
                const float x0 = q0[i];
                const float x1 = ((GLOBAL_MEM const float *)(q1 + i * s1_1))[0];
                const float t0 = x0 + x1;
                q2[i] = t0;
              }
            }
        """
        self.check(elementwise_text(ADD, Layout(2, MODES, True, True, 1)), golden)

    def test_a_reduction_on_a_card(self) -> None:
        golden = """
            LOCAL_MEM float shared_float_0[128] __attribute__((aligned(16)));
            const uint32_t lane = LID_0 % 64;
            const uint32_t column = LID_0 / 64;
            const uint32_t at = (uint32_t)GID_0 * 2 + column;
            const uint32_t g = at < (uint32_t)n ? at : (uint32_t)(n - 1);
            const uint32_t begin = (uint32_t)GID_1 * ((uint32_t)chunk);
            const uint32_t end = begin + (uint32_t)chunk < (uint32_t)m ? begin + (uint32_t)chunk : (uint32_t)m;
            const int32_t j0 = (int32_t)g;
            const int32_t o0 = j0 * s0_0;
            float total0 = (-__builtin_inff());
            for (uint32_t r = begin + lane; r < end;) {
              float part0 = (-__builtin_inff());
              const uint32_t left = (end - r + 63) / 64;
              const int turns = left < 128 ? (int)left : 128;
              #pragma unroll 4
              for (int b = 0; b < turns; b++, r += 64) {
                const int32_t i0 = (int32_t)r;
                const int32_t a0 = o0 + i0 * r0_0;
                const float x0 = ((GLOBAL_MEM const float *)(p0 + a0))[0];
                const float t0 = expf(x0);
                const float v0 = t0;
                part0 = (float)(theano_maximum_float32(part0, v0));
              }
              total0 = (float)(theano_maximum_float32(total0, part0));
            }
            shared_float_0[LID_0] = total0;
            for (int h = 32; h >= 32; h /= 2) {
              local_barrier();
              if (lane < h) {
                const float u0 = shared_float_0[LID_0];
                const float w0 = shared_float_0[LID_0 + h * 1];
                shared_float_0[LID_0] = (float)(theano_maximum_float32(u0, w0));
              }
            }
            total0 = shared_float_0[LID_0];
            if (lane < 32) {
              #pragma unroll
              for (int h = 16; h > 0; h /= 2) {
                const float u0 = total0;
                const float w0 = theano_shuffle(total0, h);
                total0 = (float)(theano_maximum_float32(u0, w0));
              }
            }
            if (lane == 0 && at < (uint32_t)n) {
              const int32_t z0 = j0 * z0_0;
              ((GLOBAL_MEM float *)(q0 + (int64_t)GID_1 * split0 + z0))[0] = total0;
            }
        """
        layout = ReduceLayout(1, 1, True, 64, 2, True, False, (True,), warp=32)
        self.check(reduction_text(job(LARGEST), layout, False), golden)


class TestStatements(unittest.TestCase):
    def test_all_layouts_keep_the_rules(self) -> None:
        for narrow in (True, False):
            for modes, unroll, vector, cpu in (
                (("contiguous",) * 3, 8, 4, False),
                (("row", "column", "contiguous"), 4, 4, False),
                (("fixed", "strided", "contiguous"), 4, 1, False),
                (("fixed", "strided", "strided"), 1, 1, True),
            ):
                layout = Layout(2, modes, narrow, cpu, unroll, vector, True, min(unroll, vector))
                self._verify(elementwise_text(ADD, layout))
            for inner, cpu, vector in (
                (True, False, 4),
                (True, False, 1),
                (False, False, 1),
                (True, True, 1),
                (False, True, 1),
            ):
                for reduction in (SUM, LARGEST):
                    layout_ = ReduceLayout(2, 2, inner, 16, 8, narrow, cpu, (True,), vector=vector)
                    self._verify(reduction_text(job(reduction), layout_, True))

    def _verify(self, text: KernelText) -> None:
        assert text.kernel is not None
        verify(text.kernel.body)

    def test_memory_that_is_read_is_not_stored_to(self) -> None:
        signature = Signature()
        signature.array("x", "float")
        store = Store(Buffer("x", "float32", 1, "argument"), Index(), value_of_text("1.0f", "float32"))
        with self.assertRaisesRegex(IRError, "memory of the kind argument is written"):
            signature.text("k", [store])

    def test_arrays_of_one_name_share_local_memory(self) -> None:
        layouts = [ReduceLayout(1, 1, True, 64, columns, True, False, (True,)) for columns in (1, 4)]
        texts = [reduction_text(job(LARGEST), layout, False) for layout in layouts]
        joined = joined_text(((texts[0], 1), (texts[1], 2)))
        self.assertEqual(joined.text.count("LOCAL_MEM float shared_float_0"), 1)
        self.assertIn("shared_float_0[256]", joined.text)
        self.assertEqual(joined.written, (False, True) * 3)


if __name__ == "__main__":
    unittest.main()
