"""The archive reader's allowlist for NumPy's dtypes, numbers and generators, with checks in place of NumPy's trust."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from theano_graph.safe_loading import ClassWord, Form, Function, Pending, Reader, Value, Word, refused

#: Dtypes without fields; no pointers.
_SIMPLE = re.compile(r"[?biufcSUVmM]\d{0,6}")
_UNITS = re.compile(r"[a-zA-Z]{1,7}")
#: So many fields a dtype may have, its own and those of its fields.
_MOST_FIELDS = 1000
_LARGEST_ITEM = 1 << 20
_SWAPPED = ">" if sys.byteorder == "little" else "<"
#: The last code of a letter.
_LAST_LETTER = 0x10FFFF


def _plain_int(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise refused(f"the archive has {value!r:.40} where a number from {low} to {high} is needed")
    return value


# ---- dtypes


class _Dtype(Value):
    """The class of dtypes: made when all that is said of one is known."""

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return an object that waits for the rest."""
        name = arguments[0] if arguments else None
        if type(name) is not str or not _SIMPLE.fullmatch(name):
            raise refused(f"the archive has a dtype {name!r:.40}")
        return Pending(self, (name,))

    def build(self, reader: Reader, made: Any, state: Any) -> Any:
        """Return the dtype."""
        if type(state) is not tuple or len(state) not in (8, 9):
            raise refused("the archive has a dtype of a form that is not known")
        _, order, base, names, fields, itemsize, alignment, _, *metadata = state
        if order not in ("<", ">", "|", "=") or base is not None:
            raise refused("the archive has a dtype of a form that is not known")
        (name,) = made.arguments
        if names is not None:
            return _structured(name, names, fields, itemsize, alignment)
        dtype = np.dtype(_with_unit(name, metadata))
        if order == _SWAPPED:
            dtype = dtype.newbyteorder(order)
        flexible = dtype.kind in "SUV"
        layout = (dtype.itemsize, dtype.alignment) if flexible else (-1, -1)
        if (itemsize, alignment) != layout or fields is not None or dtype.itemsize > _LARGEST_ITEM:
            raise refused(f"the archive has a dtype {name} with other lengths than it has")
        return dtype


def _with_unit(name: str, metadata: list[Any]) -> str:
    if not metadata or metadata[0] is None:
        return name
    unit = metadata[0][1] if type(metadata[0]) is tuple and len(metadata[0]) == 2 else None
    other = metadata[0][0] if unit is not None else None
    empty = other is None or (type(other) is dict and not other)  # as NumPy 1 writes it
    if name not in ("M8", "m8") or not empty or type(unit) is not tuple or len(unit) != 4:
        raise refused("the archive has a dtype with metadata")
    text = unit[0].decode("ascii") if type(unit[0]) is bytes else unit[0]
    count = _plain_int(unit[1], 1, 1 << 30)
    if type(text) is not str or not _UNITS.fullmatch(text) or unit[2:] != (1, 1):
        raise refused("the archive has a dtype with a unit that does not exist")
    return name if text == "generic" else f"{name}[{count}{text}]"


def _structured(name: str, names: Any, fields: Any, itemsize: Any, alignment: Any) -> Any:
    if type(names) is not tuple or type(fields) is not dict or not all(type(field) is str for field in names):
        raise refused("the archive has a dtype of a form that is not known")
    size = _plain_int(itemsize, 0, _LARGEST_ITEM)
    parts = [fields.get(field) for field in names]
    if not all(type(part) is tuple and len(part) == 2 and isinstance(part[0], np.dtype) for part in parts):
        raise refused("the archive has a dtype with fields of a form that is not known")
    formats = [part[0] for part in parts if part is not None]
    offsets = [_plain_int(part[1], 0, size) for part in parts if part is not None]
    if len(fields) != len(names) or sum(map(_count_fields, formats)) + len(names) > _MOST_FIELDS:
        raise refused("the archive has a dtype with too many fields")
    wanted = {"names": list(names), "formats": formats, "offsets": offsets, "itemsize": size}
    dtype = np.dtype(wanted, align=_plain_int(alignment, 1, 64) > 1)  # type: ignore[call-overload]  # of lists
    if name != f"V{size}" or dtype.itemsize != size:
        raise refused("the archive has a dtype with other lengths than it has")
    return dtype


def _count_fields(dtype: Any) -> int:
    return sum(1 + _count_fields(dtype[field]) for field in dtype.names or ())


def check_array(array: Any) -> None:
    """Raise an error if an array has bytes that its dtype has no meaning for: machine code counts on their absence.

    Raises
    ------
    UnsafeArchiveError
        If a truth value is neither true nor false, or a letter is none.
    """
    kind = array.dtype.kind
    if kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise refused("the archive has truth values that are neither true nor false", hint="use an undamaged copy")
    if kind == "U" and array.size and array.dtype.itemsize:
        letters = np.frombuffer(array.tobytes(), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if letters.max() > _LAST_LETTER:
            raise refused("the archive has letters that are none", hint="use an undamaged copy")
    for name in array.dtype.names or ():
        check_array(array[name])


# ---- numbers


def _scalar(reader: Reader, dtype: Any, data: Any = None) -> Any:
    """Return a number of NumPy's."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject or type(data) is not bytes or len(data) != dtype.itemsize:
        raise refused("the archive has a number whose bytes are not those of its dtype")
    if not dtype.itemsize:
        return dtype.type()
    array = np.frombuffer(data, dtype=dtype)
    check_array(array)
    return array[0]


def _refuse_array(reader: Reader, *arguments: Any) -> Any:
    raise refused(
        "the archive has an array in its pickle (an array of objects, or of a class of its own)",
        hint="store plain arrays of numbers; safe=False loads it if you trust its author: it can run any code then",
    )


# ---- generators

_GENERATORS = {
    "MT19937": "_mt19937",
    "PCG64": "_pcg64",
    "PCG64DXSM": "_pcg64",
    "Philox": "_philox",
    "SFC64": "_sfc64",
}


def _words_array(value: Any, dtype: Any, length: int) -> Any:
    array = value if type(value) is np.ndarray else None
    if array is None or array.dtype != dtype or array.shape != (length,):
        raise refused(f"the archive has a generator whose state is no array of {length} numbers of {np.dtype(dtype)}")
    return array


def _mersenne(state: dict[str, Any]) -> dict[str, Any]:
    # A position behind the end would be read.
    return {"key": _words_array(state.get("key"), np.uint32, 624), "pos": _plain_int(state.get("pos"), 0, 624)}


def _permuted(state: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain_int(state.get(name), 0, (1 << 128) - 1) for name in ("state", "inc")}


_STATES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "MT19937": _mersenne,
    "PCG64": _permuted,
    "PCG64DXSM": _permuted,
    "Philox": lambda s: {
        "counter": _words_array(s.get("counter"), np.uint64, 4),
        "key": _words_array(s.get("key"), np.uint64, 2),
    },
    "SFC64": lambda s: {"state": _words_array(s.get("state"), np.uint64, 4)},
}


def _bits_state(kind: str, state: Any) -> dict[str, Any]:
    """Return a copy of the state of a bit generator, every part of it checked."""
    if type(state) is not dict or state.get("bit_generator") != kind or type(state.get("state")) is not dict:
        raise refused(f"the archive has a state of {kind} that is none")
    state_of_bits: dict[str, Any] = {"bit_generator": kind, "state": _STATES[kind](state["state"])}
    if kind == "Philox":
        state_of_bits["buffer"] = _words_array(state.get("buffer"), np.uint64, 4)
        state_of_bits["buffer_pos"] = _plain_int(state.get("buffer_pos"), 0, 4)
    if kind != "MT19937":
        state_of_bits["has_uint32"] = _plain_int(state.get("has_uint32"), 0, 1)
        state_of_bits["uinteger"] = _plain_int(state.get("uinteger"), 0, (1 << 32) - 1)
    return state_of_bits


class _Bits(Word):
    """The function that makes bit generators."""

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return an object that waits for the state."""
        seed = arguments[0] if len(arguments) == 1 else None
        name = seed.name if isinstance(seed, ClassWord) else seed
        if type(name) is not str or name not in _GENERATORS:
            raise refused(f"the archive has a generator {name!r:.40}")
        return Pending(self, (name,))

    def build(self, reader: Reader, made: Any, state: Any) -> Any:
        """Return the bit generator."""
        (name,) = made.arguments
        seed: Any = None
        if type(state) is tuple and len(state) == 2:
            state, seed = state
            if seed is not None and not isinstance(seed, np.random.SeedSequence):
                raise refused("the archive has a generator whose seed is none")
        checked = _bits_state(name, state)
        generator = getattr(np.random, name)(seed)
        generator.state = checked
        return generator


class _Seed(Word):
    """The function that makes seeds."""

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return an object that waits for the numbers."""
        return Pending(self, ())

    def build(self, reader: Reader, generator: Any, state: Any) -> Any:
        """Return the seed."""
        if type(state) is not tuple or len(state) != 5:
            raise refused("the archive has a seed that is none")
        entropy, spawned, _, pool, key = state
        numbers = entropy if type(entropy) in (list, tuple) else [0 if entropy is None else entropy]
        if type(key) is not tuple or len(numbers) > 10_000 or len(key) > 1000:
            raise refused("the archive has a seed that is none")
        for number in (*numbers, *key):
            _plain_int(number, 0, 1 << 4096)
        return np.random.SeedSequence(
            entropy,
            spawn_key=key,
            pool_size=_plain_int(pool, 4, 64),
            n_children_spawned=_plain_int(spawned, 0, 1 << 31),
        )


class _Generator(Word):
    """The functions that make generators of bit generators."""

    def __init__(self, module: str, name: str, make: Callable[[Any], Any]) -> None:
        super().__init__(module, name)
        self._make = make

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return the generator.

        NumPy 1 gives the name of the source of bits; their state comes with the generator's own, their seed never.
        """
        bits, *maker = arguments or (None,)
        if type(bits) is str and bits in _GENERATORS and (not maker or isinstance(maker[0], _Bits)):
            bits = getattr(np.random, bits)()
        elif maker:
            bits = None
        if not isinstance(bits, np.random.BitGenerator) or len(maker) > 1:
            raise refused("the archive has a generator without bits")
        generator = self._make(bits)
        reader.await_contents(generator, self)
        return generator

    def build(self, reader: Reader, generator: Any, state: Any) -> None:
        """Set the state, where it does not go with the bits."""
        if not state:
            return
        legacy = isinstance(generator, np.random.RandomState)
        bits = generator._bit_generator if legacy else generator.bit_generator
        bits.state = checked = _bits_state(type(bits).__name__, state)
        if not legacy:
            return
        gauss = state.get("gauss")
        if type(gauss) is not float:
            raise refused("the archive has a generator with a number that is none")
        generator.set_state({**checked, "has_gauss": _plain_int(state.get("has_gauss"), 0, 1), "gauss": gauss})


class _NoForm(Form):
    """Classes that are named and never made by themselves."""


_NUMBERS = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intc intp longlong ulonglong float16 float32 float64 "
    "longdouble complex64 complex128 clongdouble str_ bytes_ datetime64 timedelta64"
)


def numpy_words() -> Iterator[Word]:
    """Yield the allowlist for NumPy."""
    yield _Dtype("numpy", "dtype")
    for package in ("numpy._core", "numpy.core"):
        yield Function(f"{package}.multiarray", "scalar", _scalar)
        yield Function(f"{package}.multiarray", "_reconstruct", _refuse_array)
        yield Function(f"{package}.numeric", "_frombuffer", _refuse_array)
    yield ClassWord("numpy", "ndarray", _NoForm())
    for name in _NUMBERS.split():
        yield Value("numpy", name)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        yield Value("numpy", "bool")
    yield _Bits("numpy.random._pickle", "__bit_generator_ctor")
    yield _Seed("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence")
    yield ClassWord("numpy.random.bit_generator", "SeedSequence", _NoForm())
    yield _Generator("numpy.random._pickle", "__randomstate_ctor", np.random.RandomState)
    yield _Generator("numpy.random._pickle", "__generator_ctor", np.random.Generator)
    for name, module in _GENERATORS.items():
        yield ClassWord(f"numpy.random.{module}", name, _NoForm())
