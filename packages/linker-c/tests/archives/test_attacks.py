"""Archives that were made to do harm: each is refused with one class of error, and nothing that it asks for is done."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import struct
import sys
import tempfile
import unittest
import zipfile
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from theano_graph import generic
from theano_linker_c import SharedVariable
from theano_linker_c.archive import UnsafeArchiveError, dump, load
from theano_linker_c.scalar import ScalarType, mul
from theano_testing.tiers import slow

Step = bytes
float64 = ScalarType("float64")


def archive(steps: bytes | Sequence[Step], packed: int = zipfile.ZIP_DEFLATED, **members: bytes) -> io.BytesIO:
    """Return an archive with a pickle of some codes, and other members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packed) as result:
        for name, data in members.items():
            result.writestr(name, data)
        result.writestr("pkl", steps if isinstance(steps, bytes) else b"\x80\x04" + b"".join(steps) + b".")
    file.seek(0)
    return file


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def name(module: str, attribute: str) -> bytes:
    return text(module) + text(attribute) + b"\x93"


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def data(value: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(value)) + value


def as_dtype(code: str) -> bytes:
    state = b"(" + number(3) + text("|") + b"NNN" + number(-1) + number(-1) + number(63) + b"tb"
    return name("numpy", "dtype") + text(code) + b"\x89\x88\x87R" + state


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    return file.getvalue()


def header(descr: str, shape: str, order: str = "False") -> bytes:
    body = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


class Calls:
    """A pickle that calls something when Python's own machine reads it."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.what = (function, arguments)

    def __reduce__(self) -> Any:
        return self.what


class TestAttacks(unittest.TestCase):
    def refuses(self, file: io.BytesIO, words: str) -> None:
        with self.assertRaisesRegex(UnsafeArchiveError, words) as caught:
            load(file, safe=True)
        self.assertIn("Hint", str(caught.exception))

    # ---- former faults of the safe form of loading

    def test_an_array_of_objects_with_bytes_for_pointers(self) -> None:
        # Without checks, the eight bytes become a pointer to an object: reading the array ends the process.
        steps = [
            name("numpy._core.multiarray", "_reconstruct") + name("numpy", "ndarray") + number(0) + b"\x85",
            data(b"b") + b"\x87R(" + number(1) + number(1) + b"\x85" + as_dtype("O8") + b"\x89",
            data(b"\x41" * 8) + b"tb",
        ]
        self.refuses(archive(steps), "array in its pickle|dtype 'O8'")

    def test_the_constructor_of_arrays(self) -> None:
        arguments = number(1000) + b"\x85" + text("f8") + data(b"") + b"t"
        self.refuses(archive([name("numpy", "ndarray") + b"(" + arguments + b"R"]), "calls numpy.ndarray")
        self.refuses(archive([name("numpy", "ndarray") + b"(" + arguments + b"\x81"]), "numpy.ndarray")

    def test_states_of_dtypes(self) -> None:
        # A dtype of doubles with the flags of one that holds objects; fields that lie outside of it.
        outside = b"(" + text("a") + b"t}" + text("a") + as_dtype("f8") + number(1 << 30) + b"\x86s"
        for steps in (
            [as_dtype("f8").replace(number(-1), number(1 << 20))],
            [as_dtype("O")],
            [
                name("numpy", "dtype") + text("V8") + b"\x89\x88\x87R(" + number(3) + text("|") + b"N" + outside,
                number(8) + number(1) + number(0) + b"tb",
            ],
        ):
            self.refuses(archive(steps), "dtype|number from 0 to")

    def test_a_dtype_of_the_library_is_not_changed(self) -> None:
        # Python's machine would change the one dtype that all arrays of doubles have.
        changed = as_dtype("f8")
        with self.subTest("its own object"):
            load(archive([changed]), safe=True)
        self.assertEqual(np.dtype("f8").itemsize, 8)
        self.assertFalse(np.dtype("f8").hasobject)
        self.refuses(archive([name("numpy", "float64") + b"}" + text("flags") + number(63) + b"sb"]), "changes a")

    def test_modules_are_not_imported(self) -> None:
        for module, attribute in (
            ("theano.sandbox.minimal", "Minimal"),
            ("theano_tensor.io", "LoadFromDisk"),
            ("theano_linker_c.debugmode", "DebugMode"),
            ("antigravity", "geohash"),
            ("this", "s"),
            ("os.path", "join"),
        ):
            reference = module in sys.modules
            self.refuses(archive([name(module, attribute)]), f"{module}.{attribute}")
            self.assertEqual(module in sys.modules, reference, module)

    def test_calls(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "made")
            for function, arguments in (
                (os.mkdir, (result,)),
                (os.system, (f"touch {result}",)),
                (open, (result, "w")),
                (exec, (f"open({result!r}, 'w')",)),
                (getattr, (os, "mkdir")),
                (__import__, ("os",)),
                (print, ("here",)),
                (np.load, (result,)),
                (np.memmap, (result, "u1", "w+", 0, (4,))),
                (pickle.loads, (b"N.",)),
            ):
                with self.subTest(function=function.__name__):
                    if function is getattr:
                        code = name("builtins", "getattr") + name("os", "mkdir") + text("x") + b"\x86R"
                        self.refuses(archive([code]), "needs os.mkdir")
                        continue
                    self.refuses(archive(pickle.dumps(Calls(function, *arguments))), "safe=True")
            self.assertEqual(os.listdir(folder), [])

    def test_attributes_of_names(self) -> None:
        for path in ("dtype.__setstate__", "ndarray.__new__", "float64.__reduce__"):
            self.refuses(archive([name("numpy", path)]), "needs numpy")
        code = name("builtins", "getattr") + name("numpy", "dtype") + text("__setstate__") + b"\x86R"
        self.refuses(archive([code]), "asks for an attribute")

    def test_every_code_that_makes_something(self) -> None:
        python = name("builtins", "eval")
        for steps in (
            [python + text("1") + b"\x85R"],
            [python + text("1") + b"\x85\x81"],
            [python + text("1") + b"\x85}\x92"],
            [b"(" + python + text("1") + b"o"],
            [b"(" + text("1") + b"ibuiltins\neval\n"],
            [b"cbuiltins\neval\n" + text("1") + b"\x85R"],
            [b"\x82\x01"],
            [b"\x83\x01\x00"],
            [b"\x84\x01\x00\x00\x00"],
            [b"\x97"],
            [b"]\x98"],
            [b"Pnumpy.ndarray.none\n"],
            [text("elsewhere") + b"Q"],
            [b"]Q"],
        ):
            self.refuses(archive(steps), ".")

    # ---- contents that lie

    def test_generators_that_read_behind_their_end(self) -> None:
        state = np.random.RandomState(1)
        for position in (625, 10**6, -5):
            file = io.BytesIO()
            dump(_WithPosition(position), file)
            self.refuses(file, "number from 0 to 624")
        file = io.BytesIO()
        dump(state, file)
        self.assertEqual(load(file, safe=True).uniform(), state.uniform())

    def test_truth_values_that_are_neither(self) -> None:
        array = np.array([2, 255], np.uint8).view(bool)
        self.refuses(archive([text("numpy.ndarray.a") + b"Q"], a=npy(array)), "neither true nor false")
        both = np.zeros(2, [("flag", "u1"), ("x", "f4")])
        both["flag"] = 7
        wrong = both.view([("flag", "?"), ("x", "f4")])
        self.refuses(archive([text("numpy.ndarray.a") + b"Q"], a=npy(wrong)), "neither true nor false")

    def test_headers_while_another_thread_parses(self) -> None:
        # Python counts how deep the trees of all threads together are, and may take that for a fault.
        array = np.array([(1, 2.5)], [("n", "i4"), ("x", "f8")])
        answers = [SystemError("AST constructor recursion depth mismatch"), [("n", "<i4"), ("x", "<f8")]]
        with patch("ast.literal_eval", side_effect=answers):
            loaded = load(archive([text("numpy.ndarray.a") + b"Q"], a=npy(array)), safe=True)
        np.testing.assert_array_equal(loaded, array)

    def test_members_that_are_no_arrays(self) -> None:
        good = npy(np.arange(4.0))
        for member in (
            b"",
            b"\x93NUMPY",
            good[:-1],
            good + b"\x00",
            npy(np.array([{}], object)),
            header("'|O'", "(1,)") + b"\x41" * 8,
            header("'<f8'", "(1000000000000,)"),
            header("'<f8'", "(0, 9999999999999999999)"),
            header("'<f8'", "(" + "1, " * 40 + ")") + b"\x00" * 8,
            header("'<f8'", "(-1,)"),
            header("[('a', '<f8', (1000, 1000))]", "(1,)"),
            header("__import__('os')", "(1,)"),
            header("'|S0'", "(1000000000000,)"),
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + good[10:],
            header("[" * 30 + "]" * 30, "()"),
        ):
            with self.subTest(member=member[:60]):
                self.refuses(archive([text("numpy.ndarray.a") + b"Q"], a=member), "array|dtype|damaged")

    def test_a_value_that_is_none_of_its_type(self) -> None:
        typed = SharedVariable(float64, np.float64(2.0), "w")
        typed.container.storage[0] = np.float32(1.0)
        file = io.BytesIO()
        dump(typed, file)
        self.refuses(file, "value that is none of")
        constant = float64.make_constant(2.0)
        object.__setattr__(constant, "_data", "text")
        file = io.BytesIO()
        dump(constant, file)
        self.refuses(file, "constant that is no value")

    def test_a_node_that_its_op_would_not_make(self) -> None:
        x, y = float64("x"), float64("y")
        product = mul(x, y)
        product.type = generic
        file = io.BytesIO()
        dump(product, file)
        self.refuses(file, "of types that it does not give")

    def test_texts_that_would_become_c(self) -> None:
        kind = ScalarType.__new__(ScalarType)
        vars(kind).update(vars(float64), dtype='float64; system("true")')
        file = io.BytesIO()
        dump([kind], file)
        self.refuses(file, "has the text")

    # ---- sizes

    def test_lengths_that_are_not_there(self) -> None:
        for code in (b"\x8e", b"\x8d", b"\x96", b"\x95"):
            self.refuses(archive([code + struct.pack("<Q", 1 << 60)]), "damaged")
        for code in (b"B", b"X", b"T", b"\x8b"):
            self.refuses(archive([code + struct.pack("<I", 0x7FFFFFFF)]), "damaged")

    @slow
    def test_bombs(self) -> None:
        self.refuses(archive([b"]" * 3_000_000]), "more than .* codes")
        zeros = npy(np.zeros(60_000_000, np.uint8))
        file = archive([text("numpy.ndarray.a") + b"Q"], a=zeros)
        with self.assertRaisesRegex(UnsafeArchiveError, "max_bytes"):
            load(file, safe=True, max_bytes=50_000_000)
        file.seek(0)
        self.assertEqual(load(file, safe=True).size, 60_000_000)

    def test_a_member_that_says_less_than_it_has(self) -> None:
        file = archive([text("numpy.ndarray.a") + b"Q"], packed=zipfile.ZIP_STORED, a=npy(np.arange(4.0)))
        full = bytearray(file.getvalue())
        position = full.rindex(b"PK\x01\x02", 0, full.rindex(b"PK\x01\x02"))
        full[position + 24 : position + 28] = struct.pack("<I", 1 << 31)
        self.refuses(io.BytesIO(bytes(full)), "max_bytes|cannot be unpacked|damaged")

    def test_depth(self) -> None:
        deep = b")" + b"\x85" * 100_000
        self.refuses(archive([deep]), "nested")
        self.refuses(archive([b"}" + deep + b"Ns"]), "nested")
        # Each tuple holds the one before twice: hashing would take for ever.
        self.refuses(archive([b"}" + number(1) + b"\x85" + b"2\x86" * 60 + b"Ns"]), "nested")
        lists = load(archive([b"]" + b"".join(b"\x94]h\x00a" for _ in range(10))]), safe=True)
        self.assertIsInstance(lists, list)

    def test_the_stack(self) -> None:
        for steps in ([b"0"], [b"R"], [b"t"], [b"u"], [b"a"], [b"2"], [b"h\x05"], [b"(((((."], [b"b"], [b"\x8c\xff"]):
            self.refuses(archive(steps), "damaged|safe=True")
        self.refuses(archive(b""), "no end")
        self.refuses(archive(b"\x80\x09."), "protocol 9")
        self.refuses(archive(b"\xff."), "does not exist")

    def test_no_archives(self) -> None:
        self.refuses(io.BytesIO(b""), "damaged")
        self.refuses(io.BytesIO(pickle.dumps(1)), "damaged")
        self.refuses(io.BytesIO(archive([b"N"]).getvalue()[:-30]), "damaged")
        file = io.BytesIO()
        np.savez(file, a=np.ones(2))
        self.refuses(file, "no member 'pkl'")


class _WithPosition:
    """A generator of NumPy's with a position of its own."""

    def __init__(self, position: int) -> None:
        self.position = position

    def __reduce__(self) -> Any:
        function, arguments, state = np.random.RandomState(1).__reduce__()
        changed = {**state, "state": {**state["state"], "pos": self.position}}
        return function, arguments, changed


class TestValues(unittest.TestCase):
    def test_plain_values(self) -> None:
        values: list[Any] = [
            *(None, True, 0, -1, 255, 65536, 1 << 70, -(1 << 70), 0.5, float("inf"), 1 + 2j, "text", "ü\ud800", b"b"),
            *(
                [1, [2]],
                (1, (2,)),
                {"a": {"b": 1}},
                {1, 2},
                frozenset({3}),
                bytearray(b"c"),
                slice(1, None, 2),
                range(3),
            ),
            *(
                np.float32(1.5),
                np.int8(-3),
                np.bool_(True),
                np.complex64(1j),
                np.str_("x"),
                np.datetime64("2020-01-02"),
            ),
            *(
                np.dtype("f8"),
                np.dtype(">i4"),
                np.dtype("M8[ns]"),
                np.dtype("U5"),
                np.dtype([("a", "i4"), ("b", "f8")]),
            ),
            *(np.float64, int, ValueError),
        ]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            file = io.BytesIO()
            dump(values, file, protocol=protocol)
            result = load(file, safe=True)
            self.assertEqual(list(map(repr, result)), list(map(repr, values)), protocol)
            self.assertEqual(list(map(type, result)), list(map(type, values)), protocol)

    def test_arrays(self) -> None:
        arrays = [
            np.arange(6.0).reshape(2, 3),
            np.asfortranarray(np.arange(6).reshape(2, 3)),
            np.array(3.0),
            np.zeros((0, 4), np.float32),
            np.arange(3, dtype=">f8"),
            np.array([True, False]),
            np.array(["a", "bc"]),
            np.zeros(3, [("a", "i4"), ("b", "f8", (2,))]),
            np.array(["2020-01-02"], "M8[D]"),
            np.arange(4) * 1j,
        ]
        file = io.BytesIO()
        dump(arrays, file)
        for item, expected in zip(load(file, safe=True), arrays, strict=True):
            np.testing.assert_array_equal(item, expected)
            self.assertEqual((item.dtype, item.shape), (expected.dtype, expected.shape))
            self.assertEqual(item.flags.f_contiguous, expected.flags.f_contiguous)
            self.assertTrue(item.flags.writeable and item.flags.owndata)

    def test_identities_and_cycles(self) -> None:
        array, private = np.ones(2), [1]
        private.append(private)  # type: ignore[arg-type]  # that is the point
        file = io.BytesIO()
        dump([array, array, private, {"own": private}], file)
        first, second, loop, holder = load(file, safe=True)
        self.assertIs(first, second)
        self.assertIs(loop[1], loop)
        self.assertIs(holder["own"], loop)

    def test_generators(self) -> None:
        makers: list[Callable[[], Any]] = [
            lambda: np.random.RandomState(3),
            lambda: np.random.default_rng(3),
            *(
                lambda kind=kind: np.random.Generator(kind(5))
                for kind in (np.random.MT19937, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
            ),
        ]
        for make in makers:
            file = io.BytesIO()
            operand = make()
            operand.normal(size=7)
            dump(operand, file)
            result = load(file, safe=True)
            np.testing.assert_array_equal(result.normal(size=5), operand.normal(size=5))
            if isinstance(operand, np.random.Generator) and hasattr(operand, "spawn"):
                expected = operand.spawn(1)[0].random()
                # NumPy 1 does not pickle the seed: the children of a loaded generator are then fresh ones each time.
                saved = pickle.loads(pickle.dumps(make())).spawn(1)[0].random() == make().spawn(1)[0].random()
                self.assertEqual(result.spawn(1)[0].random() == expected, saved)

    def test_codes_are_those_of_pickle(self) -> None:
        reference = {code.code for code in pickletools.opcodes}
        for code in map(chr, range(256)):
            if code not in reference:
                with self.assertRaisesRegex(UnsafeArchiveError, "does not exist"):
                    load(archive(code.encode("latin1") + b"."), safe=True)
