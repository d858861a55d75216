"""The loop IR: its rules, its passes, and its text, for readers and as C."""

from __future__ import annotations

import textwrap
import unittest
from itertools import count

from theano_linker_c._c_interface import called, named
from theano_linker_c.codegen import IRError, verify
from theano_linker_c.codegen.ir import (
    Accumulate,
    Assign,
    Body,
    Buffer,
    Check,
    If,
    Index,
    Joined,
    Let,
    Load,
    Loop,
    LoopKind,
    Move,
    Opaque,
    Region,
    Scheme,
    Statement,
    Store,
    Total,
    value_of_text,
)
from theano_linker_c.codegen.lengths import ONE, Length
from theano_linker_c.codegen.passes import hoisted, named_in, without_accumulations, without_unread, written_in
from theano_linker_c.codegen.print import c99_lines, device_lines, shown
from theano_linker_c.scalar import add

N, M = Length(1, ("n",)), Length(1, ("m",))
X = Buffer("x", "float64", 2, "argument")
OUT = Buffer("out", "float64", 1, "result")


def text(body: Body, fail: str = "return {};") -> str:
    """Return statements as C, which begins at the left."""
    return "\n".join(c99_lines(body, fail, 0)) + "\n"


def lines(golden: str) -> str:
    """Return a text without its indentation."""
    return textwrap.dedent(golden).lstrip("\n")


def element(*indices: str) -> Load:
    """Return an element of `X`, which has `m` columns."""
    return Load(X, Index.of(indices, [M, ONE]))


def value(name: str) -> Statement:
    """Return the definition of a variable by a call."""
    return Let("e2", "double", value_of_text(f"exp({name})", "float64"))


def row_sums(scheme: Scheme) -> Body:
    """Return sums of exponentials of rows."""
    turn = (Let("x1", "double", element("i", "j")), value("x1"))
    total = Total("r3", add, "float64", "float64", 0)
    sums = Accumulate((total,), ("j",), (M,), turn, (value_of_text("e2", "float64"),), scheme)
    store = Store(OUT, Index.of(["i"], [ONE]), value_of_text("r3", "float64"))
    return (Loop(LoopKind.SERIAL, "i", N, (sums, store)),)


def expanded(body: Body) -> Body:
    """Return statements whose accumulations are loops."""
    numbers = count(4)
    return without_accumulations(body, lambda prefix: f"{prefix}{next(numbers)}")


class TestText(unittest.TestCase):
    """Statements as text."""

    def test_loops(self) -> None:
        """Elementwise loops."""
        turn = (
            Let("x1", "double", element("i", "j")),
            value("x1"),
            Store(OUT, Index(), value_of_text("e2", "float64")),
        )
        body = (Loop(LoopKind.SERIAL, "i", N, (Loop(LoopKind.VECTOR, "j", M, turn),)),)
        golden = """
            loop i < n serial
              loop j < m vector
                let x1: double = argument x[i * m + j]: float64
                let e2: double = exp(x1)
                store result out[0]: float64 = e2
        """
        self.assertEqual(shown(body), lines(golden))
        golden = """
            for (int64_t i = 0; i < n; i++) {
            THEANO_INDEPENDENT
                for (int64_t j = 0; j < m; j++) {
                    const double x1 = x[i * m + j];
                    const double e2 = exp(x1);
                    out[0] = e2;
                }
            }
        """
        self.assertEqual(text(body), lines(golden))

    def test_loops_on_devices(self) -> None:
        """Work-groups take turns, and a known number of turns is written down for each or for one of them."""
        two = Length(2)
        inner = (
            Loop(LoopKind.UNROLLED, "j", two, (Store(OUT, Index(), element("i", "j")),)),
            Loop(LoopKind.SERIAL, "k", two, (Store(OUT, Index(), element("i", "k")),)),
        )
        body = (Loop(LoopKind.GROUPS, "i", N, (If(value_of_text("i < m", "bool"), inner, ()),)),)
        verify(body)
        golden = """
            for (int64_t i = GID_0; i < n; i += GDIM_0) {
              if (i < m) {
            #pragma unroll
                for (int j = 0; j < 2; j++) {
                  out[0] = x[i * m + j];
                }
            #pragma unroll 1
                for (int k = 0; k < 2; k++) {
                  out[0] = x[i * m + k];
                }
              }
            }
        """
        self.assertEqual("\n".join(device_lines(body)) + "\n", lines(golden))

    def test_turns_of_work_groups_need_nothing_of_each_other(self) -> None:
        """A variable from outside gets no value."""
        turn = Loop(LoopKind.GROUPS, "i", N, (Assign("r", value_of_text("i")),))
        with self.assertRaises(IRError):
            verify((Let("r", "int64_t", value_of_text("0"), False), turn))

    def test_serial_sums(self) -> None:
        """One value after the other."""
        body = row_sums(Scheme())
        golden = """
            loop i < n serial
              accumulate r3: float64 from 0 over j < m serial
                let x1: double = argument x[i * m + j]: float64
                let e2: double = exp(x1)
                r3 = add(r3, e2)
              store result out[i]: float64 = r3
        """
        self.assertEqual(shown(body), lines(golden))
        verify(body)
        golden = """
            for (int64_t i = 0; i < n; i++) {
                double r3 = (0.0);
                for (int64_t j = 0; j < m; j++) {
                    const double x1 = x[i * m + j];
                    const double e2 = exp(x1);
                    r3 = (double)(r3 + e2);
                }
                out[i] = r3;
            }
        """
        self.assertEqual(text(expanded(body)), lines(golden))

    def test_sums_in_lanes(self) -> None:
        """Partial totals side by side."""
        body = expanded(row_sums(Scheme(4, 64)))
        verify(body)
        golden = """
            loop i < n serial
              var r3: double = (0.0)
              opaque double lanes4[4] = {(0.0), (0.0), (0.0), (0.0)}; defines lanes4
              var i6: int64_t = 0
              region while (i6 + 4 <= m)
                let n8: int64_t = m - i6
                let n7: int64_t = i6 + (n8 < 64 ? n8 : 64)
                region for (; i6 + 4 <= n7; i6 += 4) changes i6
                  region for (int k5 = 0; k5 < 4; k5++) changes k5
                    let x1: double = argument x[i * m + (i6 + k5)]: float64
                    let e2: double = exp(x1)
                    store numbers lanes4[k5]: float64 = add(numbers lanes4[k5]: float64, e2)
                region for (int k9 = 0; k9 < 4; k9++) changes k9
                  r3 = add(r3, numbers lanes4[k9]: float64)
                  store numbers lanes4[k9]: float64 = (0.0)
              region for (; i6 < m; i6++) changes i6
                let x1: double = argument x[i * m + i6]: float64
                let e2: double = exp(x1)
                r3 = add(r3, e2)
              store result out[i]: float64 = r3
        """
        self.assertEqual(shown(body), lines(golden))

    def test_other_statements(self) -> None:
        """Branches, checks, opaque text, pointers, and elements of a table."""
        table = Buffer("c1", "int32", 1, "constant")
        half = Buffer("h", "float16", 1, "result")
        body = (
            Let("p2", "const double *", value_of_text("x + 3")),
            Let("t3", "double", None, False),
            Check(value_of_text("n >= 1", "bool"), 2),
            If(
                value_of_text("n > 5", "bool"),
                (Assign("t3", Joined(add, value_of_text("n"), value_of_text("2"), "float64")),),
                (Check(None, 3),),
            ),
            Region("while (n--)", (Opaque(("f(p2);", "g(&t3);"), (), ("t3",)),), (), ("n",)),
            Store(half, Load(table, Index.of(["k"], [ONE])), value_of_text("t3", "float32")),
            Move(half, Index(), Load(Buffer("&s4", "float16", 0, "local"), Index())),
        )
        golden = """
            let p2: const double * = x + 3
            var t3: double
            check n >= 1 else 2
            if n > 5
              t3 = add(n, 2)
            else
              check never else 3
            region while (n--) changes n
              opaque f(p2); changes t3
                     g(&t3);
            store result h[constant c1[k]: int32]: float16 = t3
            move result h[0]: float16 = s4: float16
        """
        self.assertEqual(shown(body), lines(golden))
        golden = """
            const double *const p2 = x + 3;
            double t3;
            if (!(n >= 1)) goto end2;
            if (n > 5) {
                t3 = (double)(n + (((double)2)));
            }
            else {
                goto end3;
            }
            while (n--) {
                f(p2);
                g(&t3);
            }
            h[c1[k]] = theano_to_half_float32(theano_half_float32(t3));
            h[0] = s4;
        """
        self.assertEqual(text(body, "goto end{};"), lines(golden))

    def test_builtins(self) -> None:
        """Functions that only some compilers have."""
        body = (Let("x1", "double", value_of_text('__builtin_fabs(y) + __builtin_nan("")')),)
        self.assertEqual(text(body), "const double x1 = fabs(y) + ((double)NAN);\n")

    def test_names(self) -> None:
        """Numbers are no names, and casts are no calls."""
        self.assertEqual(named("_Bool y = s->x != 1e-5f * 0x1.8p3 + .5f;"), ("_Bool", "y", "s", "x"))
        self.assertEqual(called("f (x) + g(h(x)) * (int)(x)"), ("g", "h"))


class TestRules(unittest.TestCase):
    """Statements that break rules."""

    def check(self, body: Body, message: str) -> None:
        """Look whether a rule refuses statements."""
        with self.assertRaisesRegex(IRError, message):
            verify(body)

    def test_variables(self) -> None:
        """Variables are defined once, before they are read, and written if they are no constants."""
        let, change = Let("t1", "int", value_of_text("0")), Assign("t1", value_of_text("1"))
        self.check((let, Region("", (let,))), "t1 is defined already")
        self.check((Opaque(("f(t1);",)), let), "t1 is read where it is not known")
        self.check((Region("", (let,)), Opaque(("f(t1);",))), "t1 is read where it is not known")
        self.check((let, change), "t1 is constant")
        variable = Let("t1", "int", None, False)
        self.check((change, variable), "t1 gets a value where it is not known")
        self.check((Loop(LoopKind.SERIAL, "i", N, (Let("i", "int", None),)),), "i is defined already")
        verify((Region("", (let,)), Region("", (let,)), variable, Region("", (change,))))

    def test_vector_loops(self) -> None:
        """Turns that may run at the same time give only variables of their own values."""
        outer, inner = (Let(name, "int", None, False) for name in ("t1", "t2"))
        turn = inner, Assign("t2", value_of_text("i")), Assign("t1", value_of_text("i"))
        self.check(
            (outer, Loop(LoopKind.VECTOR, "i", N, turn)),
            "turns of a loop that need nothing of each other give t1 values",
        )
        verify((outer, Loop(LoopKind.SERIAL, "i", N, turn), Loop(LoopKind.VECTOR, "i", N, turn[:2])))

    def test_memory(self) -> None:
        """Memory that may be written, and positions of elements."""
        zero = value_of_text("0", "float64")
        self.check((Store(X, Index(), zero),), "memory of the kind argument is written")
        self.check((Store(OUT, Index.of(["i", "j"], [N, ONE]), zero),), "out has 1 dimensions")
        self.check((Move(OUT, Index(), Load(Buffer("y", "int8", 0, "argument"), Index())),), "int8 is moved")

    def test_others(self) -> None:
        """Status codes, totals, and text that can stand anywhere."""
        self.check((Check(None, 0),), "status code")
        self.check((Opaque(("f();",), total=True),), "defines nothing")
        total = Total("r1", add, "float64", "float64", 0)
        self.check((Accumulate((total,), (), (), (), (), Scheme()),), "not one value for each total")
        body = (Opaque(("double e2 = j;",), ("e2",)),)
        sums = Accumulate((total,), ("j",), (N,), body, (value_of_text("e2", "float64"),), Scheme(8, 64))
        self.check((sums,), "names the index j")


class TestPasses(unittest.TestCase):
    """Statements that passes leave."""

    def test_unread(self) -> None:
        """Values that nothing reads are left out, and with them values that only they read."""
        body = (
            Let("t1", "double", value_of_text("2.0")),
            Let("t2", "double", None, False),
            Loop(LoopKind.SERIAL, "i", N, (Assign("t2", value_of_text("t1 + i")),)),
            Store(Buffer("&t2", "float64", 0, "local"), Index(), value_of_text("t1")),
            Opaque(("int a3, b4;",), ("a3", "b4")),
            Opaque(("f(b4);",)),
            Let("x5", "double", value_of_text("draw(state)"), moves=True),
        )
        golden = """
            loop i < n serial
            opaque int a3, b4; defines a3 b4
            opaque f(b4);
            opaque (void)(draw(state));
        """
        self.assertEqual(shown(without_unread(body)), lines(golden))
        self.assertEqual(without_unread(body[4:6]), body[4:6])

    def test_many_unread(self) -> None:
        """The time of long chains grows with their length only."""
        body = tuple(Let(f"t{k}", "int", value_of_text(f"t{k - 1}")) for k in range(1, 20_000))
        self.assertEqual(without_unread(body), ())

    def test_invariants(self) -> None:
        """Lengths that follow from variables which a body leaves alone can stand before it."""
        body = (
            Let("n1", "int64_t", value_of_text("n * 2", total=True)),
            Let("n2", "int64_t", value_of_text("x[0]")),
            Opaque(("int64_t n3;", "const int64_t n4 = theano_slice(n1, &n3);"), ("n3", "n4"), total=True),
            Let("n5", "int64_t", value_of_text("n2 + 1", total=True)),
            Let("n6", "int64_t", value_of_text("m + n4", total=True)),
            Let("n7", "int64_t", value_of_text("k + 1", total=True)),
            Region("while (k < n)", (Opaque(("k++;",), (), ("k",)),)),
        )
        before, after, names = hoisted(body, lambda name: name != "m")
        self.assertEqual((before, after), ([body[0], body[2]], [body[1], *body[3:]]))
        self.assertEqual(names, {"n1", "n3", "n4"})

    def test_effects(self) -> None:
        """Names that statements read and write, inside of others, too."""
        body = row_sums(Scheme())
        self.assertEqual(named_in(body), {"n", "m", "i", "j", "x", "x1", "exp", "out", "r3"})
        self.assertEqual(written_in(body), {"i", "j", "x1", "e2", "r3"})
