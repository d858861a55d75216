"""Valid archives of every kind of value, and changes of their bytes, codes, names, numbers and arrays."""

from __future__ import annotations

import io
import pickletools
import random
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

import theano_scan
import theano_sparse
import theano_tensor as tt
from theano_graph import config
from theano_graph.safe_loading import vocabulary
from theano_linker_c import shared
from theano_linker_c.archive import UnsafeArchiveError, dump, load
from theano_tensor.builders import OpFromGraph
from theano_tensor.gradient import grad
from theano_tensor.random import RandomStreams

from ..fuzz import Grammar, generate
from ..fuzz._program import Unbuildable, build

# ---- Samples: an archive of every kind of value that loads safely

#: Only small ones: a change in a large one is rarely where it matters.
_LARGEST = 8_000


def _values() -> Any:
    return [
        {"learning rate": 0.5, "sizes": (3, 4), "names": ["a", "b"], 1: {2, 3}, None: frozenset({True})},
        [1 << 70, -1, 1.5, 1j, b"bytes", "text", bytearray(b"c"), slice(1, 2), range(3), ValueError, np.float32],
        [np.float64(2.5), np.int8(3), np.bool_(True), np.str_("x"), np.datetime64("2020-01-02"), np.dtype(">f4")],
        np.dtype([("a", "i4"), ("b", "f8")]),
    ]


def _arrays() -> Any:
    return [np.arange(6.0).reshape(2, 3), np.array([True, False]), np.array(["a", "bc"]), np.zeros(2, "i2, f4")]


def _parameters() -> Any:
    return {name: shared(np.ones((2, 3), dtype), name=name) for name, dtype in (("w", "float64"), ("b", "float32"))}


def _generators() -> Any:
    return [np.random.RandomState(1), np.random.default_rng(2), np.random.Generator(np.random.Philox(3))]


def _streams() -> Any:
    streams = RandomStreams(5)
    return [streams.normal((2,)), streams.permutation(n=3)]


def _loop() -> Any:
    x = tt.dmatrix("x")
    states, _ = theano_scan.scan(lambda row, before: row + 0.5 * before, sequences=x, outputs_info=tt.zeros((2,)))
    return [x, states]


def _sparse() -> Any:
    x = theano_sparse.csc_matrix("x")
    return [x, theano_sparse.structured_dot(x, tt.dmatrix("y")), shared(scipy.sparse.csr_matrix(np.eye(3)), name="s")]


def _inner_graph() -> Any:
    x = tt.dvector("x")
    return OpFromGraph([x], [x**2 + 1])(x)


def _gradient() -> Any:
    x, w = tt.dmatrix("x"), shared(np.ones((3, 2)), name="w")
    y = tt.tanh(tt.dot(x, w))
    return [x, w, y[1:, ::2], grad(y.sum(), w)]


_MAKERS: tuple[Callable[[], Any], ...] = (
    _values,
    _arrays,
    _parameters,
    _generators,
    _streams,
    _loop,
    _sparse,
    _inner_graph,
    _gradient,
)


def _objects(graphs: int) -> Iterator[Any]:
    for make in _MAKERS:
        yield make()
    operations = Grammar().operations
    # Where nodes were made is said by the samples above; here it would be most of the text.
    with config.change_flags(traceback__limit=0):
        for seed in range(graphs):
            try:
                yield list(build(generate(seed, operations, nodes=2)).outputs)
            except Unbuildable:
                continue


def _is_loaded(file: io.BytesIO) -> bool:
    """Tell whether a random graph has no ops of the fuzzer's own."""
    try:
        load(file, safe=True)
    except UnsafeArchiveError:
        return False
    return True


def samples(graphs: int = 30) -> list[bytes]:
    """Return archives of values, parameters and graphs, some of which are random.

    Parameters
    ----------
    graphs : int
        How many random graphs to try.
    """
    matches = []
    for number, thing in enumerate(_objects(graphs)):
        file = io.BytesIO()
        dump(thing, file, protocol=(5, 4, 2)[number % 3])
        if len(file.getvalue()) <= _LARGEST and (number < len(_MAKERS) or _is_loaded(file)):
            matches.append(file.getvalue())
    return matches


# ---- Changes of archives: of bytes, of the codes of pickles, of names and numbers in them, of arrays, of the archive

_BAD_NAMES = (
    *(("os", "system"), ("builtins", "eval"), ("builtins", "getattr"), ("builtins", "exec"), ("builtins", "open")),
    *(("numpy", "ndarray"), ("numpy", "load"), ("numpy", "memmap"), ("numpy", "dtype"), ("subprocess", "Popen")),
    *(("numpy._core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "scalar"), ("copyreg", "__newobj__")),
    *(
        ("copyreg", "_reconstructor"),
        ("theano_tensor.io", "LoadFromDisk"),
        ("theano_linker_c.cop._external", "COp"),
    ),
    *(("functools", "partial"), ("operator", "attrgetter"), ("types", "CodeType"), ("ctypes", "CDLL")),
)
_TEXTS = (
    *("__class__", "__dict__", "__reduce__", "__setstate__", "perform", "make_node", "dtype", "shape", "axis", "type"),
    *("owner", "index", "inputs", "outputs", "op", "_data", "container", "storage", "_tag", "origin", "name", "O8"),
    *("V8", "f8", "M8", "U1", "S0", "float64", "float32", "int8", "complex128", "numpy.ndarray.array_0", "fgraph"),
    *("view_map", "destroy_map", "n_steps", "mode", "0); abort(", "\x00", "x" * 300),
)
_NUMBERS = (0, 1, -1, 2, 3, 4, 8, 63, 64, 127, 255, 256, 624, 625, 65535, 1 << 20, (1 << 31) - 1, -(1 << 31))
_SINGLE = b"Rbo\x81\x92)]}(t\x85\x86\x87ulseda0122N\x88\x89Q\x94\x8f\x90\x91.\x93"
#: Codes with a text after their length, by how many bytes the length has.
_WITH_LENGTH = {b"\x8c": 1, b"X": 4, b"\x8d": 8, b"C": 1, b"B": 4, b"U": 1, b"T": 4, b"\x8a": 1}


class Mutator:
    """Makes archives that are nearly right.

    Parameters
    ----------
    archives : sequence of bytes
        Archives that are right.
    """

    def __init__(self, archives: Sequence[bytes]) -> None:
        self._archives = list(archives)
        self._members = [_members_of(data) for data in archives]
        self._codes = [_codes_of(members["pkl"]) for members in self._members]
        #: Small archives come more often: they take less time, and a change is more often where it matters.
        self._chances = [1 / len(codes) for codes in self._codes]
        self._names = [(word.module, word.name) for word in vocabulary()] + list(_BAD_NAMES) * 4
        self._kinds: Sequence[Callable[[random.Random], bytes]] = (
            *([self._of_codes] * 10),
            *([self._of_bytes] * 3),
            *([self._of_members] * 2),
            self._of_archive,
        )

    @property
    def originals(self) -> Sequence[bytes]:
        """The archives that are right."""
        return self._archives

    def archive(self, seed: int) -> bytes:
        """Return the archive of a seed."""
        rng = random.Random(seed)
        return rng.choice(self._kinds)(rng)

    def _of_codes(self, rng: random.Random) -> bytes:
        (which,) = rng.choices(range(len(self._codes)), self._chances)
        codes = list(self._codes[which])
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            rng.choice(_CHANGES)(self, rng, codes)
        return _archive({**self._members[which], "pkl": b"".join(codes)})

    def _of_bytes(self, rng: random.Random) -> bytes:
        (members,) = rng.choices(self._members, self._chances)
        return _archive({**members, "pkl": _changed_bytes(rng, members["pkl"])})

    def _of_members(self, rng: random.Random) -> bytes:
        members = dict(rng.choices(self._members, self._chances)[0])
        others = [name for name in members if name != "pkl"]
        if not others:
            return self._of_codes(rng)
        name = rng.choice(others)
        if rng.random() < 0.15:
            members[name] = rng.choice(list(rng.choice(self._members).values()))
        elif rng.random() < 0.6:
            # The header is where lengths are.
            members[name] = _changed_bytes(rng, members[name][:128]) + members[name][128:]
        else:
            members[name] = _changed_bytes(rng, members[name])
        return _archive(members)

    def _of_archive(self, rng: random.Random) -> bytes:
        return _changed_bytes(rng, rng.choice(self._archives))

    # ---- codes

    def _swap(self, rng: random.Random, codes: list[bytes]) -> None:
        i, k = rng.randrange(len(codes)), rng.randrange(len(codes))
        codes[i], codes[k] = codes[k], codes[i]

    def _drop(self, rng: random.Random, codes: list[bytes]) -> None:
        start = rng.randrange(len(codes))
        del codes[start : start + rng.choice((1, 1, 1, 2, 5))]
        if not codes:
            codes.append(b".")

    def _repeat(self, rng: random.Random, codes: list[bytes]) -> None:
        start = rng.randrange(len(codes))
        part = codes[start : start + rng.choice((1, 1, 2, 4, 12))]
        codes[start:start] = part * rng.choice((1, 1, 1, 2, 50))

    def _splice(self, rng: random.Random, codes: list[bytes]) -> None:
        other = rng.choice(self._codes)
        start, position = rng.randrange(len(other)), rng.randrange(len(codes))
        codes[position : position + rng.choice((0, 1, 3))] = other[start : start + rng.choice((1, 3, 10, 40))]

    def _insert(self, rng: random.Random, codes: list[bytes]) -> None:
        codes.insert(rng.randrange(len(codes)), bytes([rng.choice(_SINGLE)]))

    def _renamed(self, rng: random.Random, codes: list[bytes]) -> None:
        places = [i for i, code in enumerate(codes) if code == b"\x93" or code[:1] == b"c"]
        module, name = rng.choice(self._names)
        named = b"c" + f"{module}\n{name}\n".encode()
        if places and rng.random() < 0.8:
            position = rng.choice(places)
            # A name goes, and another name comes.
            codes[position] = named if codes[position] != b"\x93" else b"00" + named
        else:
            codes.insert(rng.randrange(len(codes)), named)

    def _numbered(self, rng: random.Random, codes: list[bytes]) -> None:
        places = [i for i, code in enumerate(codes) if code[:1] in (b"K", b"M", b"J", b"\x8a", b"h", b"j")]
        if not places:
            return
        position = rng.choice(places)
        if codes[position][:1] in (b"h", b"j"):
            codes[position] = b"j" + struct.pack("<I", rng.randrange(60))
        else:
            codes[position] = b"J" + struct.pack("<i", rng.choice(_NUMBERS))

    def _reworded(self, rng: random.Random, codes: list[bytes]) -> None:
        places = [i for i, code in enumerate(codes) if code[:1] in (b"\x8c", b"X")]
        if places:
            text = rng.choice(_TEXTS).encode()
            codes[rng.choice(places)] = b"X" + struct.pack("<I", len(text)) + text

    def _lengthened(self, rng: random.Random, codes: list[bytes]) -> None:
        places = [i for i, code in enumerate(codes) if code[:1] in _WITH_LENGTH]
        if places:
            position = rng.choice(places)
            code = codes[position]
            width = _WITH_LENGTH[code[:1]]
            length = rng.choice((0, 1, 255, (1 << 8 * width) - 1, len(code), rng.randrange(1 << 8 * width)))
            codes[position] = code[:1] + length.to_bytes(width + 1, "little")[:width] + code[1 + width :]


_CHANGES: Sequence[Callable[[Any, random.Random, list[bytes]], None]] = (
    Mutator._swap,
    Mutator._drop,
    Mutator._repeat,
    Mutator._splice,
    Mutator._insert,
    Mutator._renamed,
    Mutator._numbered,
    Mutator._numbered,
    Mutator._reworded,
    Mutator._reworded,
    Mutator._lengthened,
)


def _members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _codes_of(data: bytes) -> list[bytes]:
    places = [position for _, _, position in pickletools.genops(data) if position is not None]
    codes = [data[a:b] for a, b in zip(places, [*places[1:], len(data)], strict=True)]
    return [code for code in codes if code[:1] != b"\x95"]  # lengths of parts would be wrong at once


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return file.getvalue()


def _changed_bytes(rng: random.Random, data: bytes) -> bytes:
    match = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not match:
            break
        position = rng.randrange(len(match))
        match rng.randrange(5):
            case 0:
                match[position] ^= 1 << rng.randrange(8)
            case 1:
                match[position] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                del match[position : position + rng.choice((1, 2, 8, 64))]
            case 3:
                match[position:position] = rng.randbytes(rng.choice((1, 2, 8)))
            case _:
                end = position + rng.choice((1, 4, 16))
                match[position:position] = match[position:end]
    return bytes(match)
