"""Operands drawn from a program or as new leaves, and small expressions as text for loops and inner graphs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

import theano_tensor as tt

from ._program import LAYOUTS, Leaf, Node, Operation, Options, apply_build, apply_reference

# ---- Operands

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float64", "float32", "float16")
COMPLEX = ("complex128", "complex64")
DISCRETE = ("bool", *INTEGERS)
REALS = (*DISCRETE, *FLOATS)
NUMBERS = (*INTEGERS, *FLOATS)
ALL = (*REALS, *COMPLEX)

#: Arrays with more elements are not made.
LARGEST = 6000

_SPECIAL = (0.0, 1.0, -1.0, 2.0, 0.5, -0.0, np.nan, np.inf, -np.inf)
_SHARES = {"float64": 10, "float32": 6, "float16": 1, "int64": 3, "int32": 2, "int8": 2, "bool": 2, "complex128": 1}


class NoOperands(Exception):
    """Nothing in the program suits an operation."""


class Draw:
    """A program in the making, as operations see it that look for operands.

    Parameters
    ----------
    rng : numpy.random.Generator

    Attributes
    ----------
    items : list of Leaf or Node
    variables, values : list
        Of each item: its variable, and NumPy's value.
    preferred : list of int
        Items that are picked rather than others.
    forced : int or None
        The item that the next pick has to give.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.items: list[Leaf | Node] = []
        self.variables: list[Any] = []
        self.values: list[Any] = []
        self._names: list[str] = []
        self._shapes: list[tuple[int, ...]] = []
        # Most programs know few dtypes, so that their items fit together.
        names = list(ALL)
        weights = np.array([_SHARES.get(name, 0.7) for name in names])
        self.preferred: list[int] = []
        self.forced: int | None = None
        self._dtypes = list(rng.choice(names, size=int(rng.integers(1, 4)), p=weights / weights.sum()))
        lengths = [0, 1, 2, 3, 4, 5, 7]
        self._lengths = [int(n) for n in rng.choice(lengths, 3, p=[0.04, 0.16, 0.25, 0.25, 0.15, 0.1, 0.05])]
        if rng.random() < 0.08:
            # Loops in vectors, and their remainder.
            self._lengths[0] = int(rng.integers(8, 70))

    # Chance
    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return bool(self.rng.random() < probability)

    def one_of(self, choices: Sequence[Any]) -> Any:
        """Return one of some things."""
        return choices[int(self.rng.integers(len(choices)))]

    def between(self, low: int, high: int) -> int:
        """Return a whole number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    # Items
    def ndim(self, number: int) -> int:
        """Return the number of dimensions of an item."""
        return len(self._shapes[number])

    def shape(self, number: int) -> tuple[int, ...]:
        """Return the lengths of an item."""
        return self._shapes[number]

    def dtype(self, number: int) -> str:
        """Return the dtype of an item."""
        return self._names[number]

    def broadcastable(self, number: int) -> tuple[bool, ...]:
        """Return which dimensions of an item may be broadcast."""
        return tuple(self.variables[number].type.broadcastable)

    def add_leaf(self, leaf: Leaf) -> int:
        """Add a leaf; return its number."""
        return self._added(leaf, leaf.variable(f"x{len(self.items)}"), leaf.value)

    def _added(self, item: Leaf | Node, variable: Any, value: Any) -> int:
        self.items.append(item)
        self.variables.append(variable)
        self.values.append(value)
        # Asked for again and again by every search for operands.
        self._names.append(str(value.dtype.name))
        self._shapes.append(tuple(map(int, value.shape)))
        return len(self.items) - 1

    def add_node(
        self, operation: Operation, operands: Sequence[int], options: Options, keep: Callable[[Any], bool]
    ) -> int:
        """Add a node if `keep` says so of its value; return its number.

        Raises
        ------
        Unbuildable
            If the operation or NumPy refuses the operands.
        NoOperands
            If the value is not wanted.
        """
        node = Node(operation, tuple(operands), dict(options))
        variable = apply_build(node, [self.variables[i] for i in operands])
        value = apply_reference(node, variable.type.dtype, [self.values[i] for i in operands])
        if not keep(value):
            raise NoOperands(operation.name)
        return self._added(node, variable, value)

    def pick(
        self,
        dtypes: Sequence[str] = ALL,
        ndim: int | Sequence[int] | None = None,
        where: Callable[[int], bool] | None = None,
    ) -> int:
        """Return an item of one of some dtypes and numbers of dimensions; late ones are more likely.

        A new leaf is made at times, and where there is none, unless `where` is given: NoOperands then.
        """
        dims = (ndim,) if isinstance(ndim, int) else ndim
        forced, self.forced = self.forced, None
        matches = [
            i
            for i in range(len(self.items))
            if self._names[i] in dtypes
            and (dims is None or len(self._shapes[i]) in dims)
            and (where is None or where(i))
        ]
        if forced is not None:
            if forced not in matches:
                raise NoOperands
            return forced
        liked = [i for i in self.preferred if i in matches] if self.preferred else []
        if liked and self.chance(0.35):
            return int(self.one_of(liked))
        if where is None and (not matches or self.chance(0.08)):
            return self.leaf(self.any_dtype(dtypes), self.any_shape(dims))
        if not matches:
            raise NoOperands
        weights = np.arange(1.0, len(matches) + 1)
        return int(self.rng.choice(matches, p=weights / weights.sum()))

    def within(self, low: float, high: float, dtypes: Sequence[str] = REALS) -> int:
        """Return an item whose numbers lie in an interval, mostly; a leaf of such numbers where there is none."""
        if self.chance(0.1):
            return self.pick(dtypes)
        try:
            return self.pick(dtypes, where=lambda i: _inside(self.values[i], low, high))
        except NoOperands:
            return self.leaf(self.any_dtype(dtypes), self.any_shape(None), low=low, high=high)

    def partner(self, number: int, dtypes: Sequence[str] = ALL, *, low: float = -4.0, high: float = 4.0) -> int:
        """Return an operand that can be combined, element by element, with an item."""
        if self.chance(0.7):
            try:
                return self.pick(dtypes, where=lambda i: self.combine(number, i))
            except NoOperands:
                pass
        shape = list(self.shape(number))
        static: list[int | None] = list(shape)
        for d in range(len(shape)):
            if self.chance(0.2):
                shape[d] = static[d] = 1
            elif shape[d] != 1 or not self.broadcastable(number)[d]:
                static[d] = None
        drop = self.between(0, len(shape)) if self.chance(0.3) else 0
        dtype = self.dtype(number) if self.dtype(number) in dtypes and self.chance(0.7) else self.any_dtype(dtypes)
        return self.leaf(dtype, tuple(shape[drop:]), low=low, high=high, static=tuple(static[drop:]))

    def combine(self, a: int, b: int) -> bool:
        """Tell whether two items can be combined element by element: only declared dimensions broadcast."""
        first, second = self.shape(a), self.shape(b)
        one, two = self.broadcastable(a), self.broadcastable(b)
        for k in range(1, min(len(first), len(second)) + 1):
            if first[-k] != second[-k] and not (one[-k] or two[-k]):
                return False
        return True

    # Leaves
    def any_dtype(self, dtypes: Sequence[str] = ALL) -> str:
        """Return one of some dtypes, rather one that the program has."""
        usual = [name for name in self._dtypes if name in dtypes]
        if usual and self.chance(0.85):
            return str(self.one_of(usual))
        weights = np.array([_SHARES.get(name, 0.7) for name in dtypes])
        return str(self.rng.choice(list(dtypes), p=weights / weights.sum()))

    def any_shape(self, dims: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return lengths for one of some numbers of dimensions."""
        ndim = int(self.rng.choice(5, p=[0.14, 0.32, 0.36, 0.14, 0.04])) if dims is None else self.one_of(dims)
        shape = tuple(self.one_of(self._lengths) for _ in range(ndim))
        return shape if math.prod(shape) <= LARGEST else tuple(min(n, 3) for n in shape)

    def leaf(
        self,
        dtype: str,
        shape: tuple[int, ...],
        *,
        low: float = -4.0,
        high: float = 4.0,
        static: tuple[int | None, ...] | None = None,
        kind: str | None = None,
        values: Any = None,
    ) -> int:
        """Add a leaf of random numbers, or of given values; return its number."""
        with np.errstate(over="ignore"):
            value = np.asarray(self.numbers(dtype, shape, low, high) if values is None else values, dtype=dtype)
        if static is None:
            known = self.chance(0.15)
            static = tuple(n if known or (n == 1 and self.chance(0.8)) else None for n in shape)
        if kind is None:
            kind = str(self.rng.choice(["input", "constant", "shared"], p=[0.72, 0.2, 0.08]))
        plain = {"input": 0.6, "shared": 0.7}.get(kind, 1.0)
        layout = "c" if self.chance(plain) else str(self.one_of(LAYOUTS))
        if layout == "broadcast" and values is None and value.ndim and len(value):
            value = np.repeat(value[:1], len(value), axis=0)
        return self.add_leaf(Leaf(np.ascontiguousarray(value).reshape(value.shape), static, kind, layout))

    def numbers(self, dtype: str, shape: tuple[int, ...], low: float, high: float) -> Any:
        """Return random numbers: small ones, often whole or repeated, at times special values and extremes."""
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        drawn = self.rng.uniform(low, high, shape)
        if dtype in INTEGERS:
            info = np.iinfo(dtype)
            drawn = np.trunc(np.clip(drawn, max(low, info.min), high))
            full = drawn.astype(dtype)
            if self.chance(0.05):
                full = np.where(self.rng.random(shape) < 0.2, self.rng.choice([info.min, info.max], shape), full)
            return full
        if self.chance(0.2):
            drawn = np.clip(np.round(drawn), low, high)
        if self.chance(0.08):
            special = self.rng.choice(_SPECIAL[: 6 if self.chance(0.5) else 9], shape)
            drawn = np.where(self.rng.random(shape) < 0.4, special, drawn)
        if dtype in COMPLEX:
            return drawn + 1j * self.rng.uniform(low, high, shape)
        if self.chance(0.03):
            drawn = drawn * self.one_of([1e-30, 1e-8, 1e3, 1e8])
        return drawn


def _inside(value: Any, low: float, high: float) -> bool:
    if value.dtype.kind == "c":
        return False
    if not value.size:
        return True
    with np.errstate(all="ignore"):
        return bool(np.all((value >= low) & (value <= high)))


# ---- Small expressions as text, read by the tensor language and by NumPy

_UNARY_FLOAT = (
    "m.tanh({})",
    "m.sin({})",
    "m.cos({})",
    "(1 / (1 + m.exp(-{})))",
    "half({})",
    "(1 - {})",
    "(-{})",
    "abs({})",
    "m.exp(-({} ** 2))",
    "m.sqrt(abs({}) + 1)",
)
_UNARY_WHOLE = ("(-{})", "({} + 1)", "abs({})", "(2 * {})")
_UNARY = {
    "f": _UNARY_FLOAT,
    "i": _UNARY_WHOLE,
    "u": ("({0} + {0})", "({0} * {0})"),
    "c": ("half({})", "(-{})", "(1 - {})"),
}
_BINARY = ("({} + {})", "({} - {})", "({} * {})", "(0 * {} + {})")
_ORDERED = ("m.maximum({}, {})", "m.minimum({}, {})", "m.where({0} > {1}, {0}, {1})")
_LOGICAL = ("({} & {})", "({} | {})", "({} ^ {})")


#: In arrays with rows: the order of these, sums, and writes into a part.
_OF_ROWS = ("{}[::-1]", "({0} + 0 * {0}.sum())", "put({0}, {0})", "({0} + {0}[-1])", "({0} - {0}.max(0))")
_WRITES = ("put({}, {})", "added({}, {})", "added({}[::-1], {})[::-1]")


def expression(d: Draw, names: Sequence[str], kind: str, size: int, *, rows: bool = False) -> str:
    """Return the text of a random expression.

    Parameters
    ----------
    d : Draw
    names : sequence of str
        Its operands; all are used if there is room.
    kind : str
        The kind of NumPy's dtype that all have.
    size : int
        How many more operations there are than it takes to join all names.
    rows : bool
        Whether all have a first dimension, which is not empty.
    """
    parts = [str(name) for name in names]
    d.rng.shuffle(parts)
    while len(parts) > 1 or size > 0:
        if len(parts) > 1 and (size <= 0 or d.chance(0.5)):
            first, second = parts.pop(), parts.pop()
            pattern = str(d.one_of(_WRITES)) if rows and kind != "b" and d.chance(0.15) else _pattern(d, kind)
            parts.insert(0, pattern.format(first, second))
        else:
            size -= 1
            k = d.between(0, len(parts) - 1)
            parts[k] = _unary(d, kind, rows).format(parts[k])
    return parts[0]


def _pattern(d: Draw, kind: str) -> str:
    if kind == "b":
        return str(d.one_of(_LOGICAL))
    if kind == "f" and d.chance(0.4):
        # A number that grows from step to step says nothing in the end.
        return "m.tanh({} * {})" if d.chance(0.5) else "half({} + {})"
    known = _BINARY[:3] if kind == "u" else _BINARY  # a constant has a sign
    return str(d.one_of(known if kind == "c" else (*known, *_ORDERED)))


def _unary(d: Draw, kind: str, rows: bool) -> str:
    if rows and d.chance(0.25):
        return str(d.one_of(_OF_ROWS[:1] if kind in "bc" else _OF_ROWS))
    return "(~{})" if kind == "b" else str(d.one_of(_UNARY[kind]))


@cache
def _code(text: str) -> Any:
    return compile(text, f"<{text}>", "eval")


def evaluated(module: Any, text: str, **names: Any) -> Any:
    """Return the value of an expression, in the tensor language or in NumPy."""
    return eval(_code(text), {"m": module, "abs": abs, **names})


_IN_GRAPHS: Mapping[str, Any] = MappingProxyType(
    {
        "half": lambda x: 0.5 * x,
        "put": lambda x, y: tt.set_subtensor(x[0], y[-1]),
        "added": lambda x, y: tt.inc_subtensor(x[:1], y[-1:]),
    }
)


def _put(x: Any, y: Any) -> Any:
    return np.concatenate([y[-1:], x[1:]])


def _added(x: Any, y: Any) -> Any:
    return np.concatenate([x[:1] + y[-1:], x[1:]])


def _half(x: Any) -> Any:
    # 0.5 is a constant of float32 beside float16 there; NumPy would stay with float16.
    return np.multiply(x, 0.5, dtype=np.result_type(np.asarray(x).dtype, np.float32))


_IN_NUMPY: Mapping[str, Any] = MappingProxyType({"half": _half, "put": _put, "added": _added})


def in_graphs(text: str, **names: Any) -> Any:
    """Return the variable of an expression."""
    return evaluated(tt, text, **_IN_GRAPHS, **names)


def in_numpy(text: str, **names: Any) -> Any:
    """Return NumPy's value of an expression."""
    return evaluated(np, text, **_IN_NUMPY, **names)


def called(name: str) -> Callable[[Sequence[str], Any], str]:
    """Return a writer of the source of a call of a function of the fuzzer."""

    def text(names: Sequence[str], options: Any) -> str:
        return f"{name}({', '.join([*names, *(f'{key}={value!r}' for key, value in options.items())])})"

    return text


def fitting(d: Draw, dtype: str, shape: tuple[int, ...], *, low: float = -2.0, high: float = 2.0) -> int:
    """Return an item of a dtype and lengths none of which broadcasts; a leaf at times, and where there is none."""
    matches = [
        i
        for i in range(len(d.items))
        if d.dtype(i) == dtype and d.shape(i) == shape and not any(d.broadcastable(i)) and _is_modest(d.values[i])
    ]
    if matches and d.chance(0.6):
        return int(d.one_of(matches))
    kind = None if d.chance(0.5) else "input"
    return d.leaf(dtype, shape, low=low, high=high, static=(None,) * len(shape), kind=kind)


def _is_modest(value: Any) -> bool:
    largest = float(np.abs(value).max(initial=0.0)) if value.dtype.kind != "b" else 1.0
    return math.isfinite(largest) and largest < 100
