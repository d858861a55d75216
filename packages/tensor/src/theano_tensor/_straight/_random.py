"""Random numbers in straight-line C: the same ones as NumPy draws from the same states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from theano_graph import Apply
from theano_linker_c.scalar import CValue
from theano_linker_c.straight import (
    ZERO,
    Block,
    CArray,
    Length,
    NoStraightForm,
    product_of,
    straight_op,
    straight_value,
)

from ..random import (
    GeneratorType,
    RandomFunction,
    RandomStateType,
    multinomial_helper,
    permutation_helper,
    random_integers_helper,
)
from ..random.mrg import ChoiceFromUniform, MRGUniform, MultinomialFromUniform
from ..random.mrg._choose import SLACK
from ..random.mrg._uniform import M1, SCALES

# ---- The strips under the normal curve from which NumPy's `Generator` draws: 256 of one area, the lowest with the tail

_STRIPS = 256
_UNIT = 2.0**52
#: PCG64 multiplies by this before it adds the increment, modulo 2**128.
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_MODULUS = 1 << 128


@cache
def ziggurat() -> tuple[Any, Any, Any]:
    """Return the tables of a draw.

    The widths are read off draws: NumPy keeps them rounded in a way of its own, which shows in the last digits of all
    numbers. Their consequences only decide which numbers are taken.

    Returns
    -------
    widths : ndarray of float64
        Of each strip, in units of 2**-52: a number of 52 bits times it is a place in the strip.
    inside : ndarray of uint64
        The numbers of 52 bits below which places in the strip are under the curve.
    heights : ndarray of float64
        The curve where the strip ends.
    """
    generator = np.random.Generator(np.random.PCG64(0))
    # A word says the strip in its lowest 8 bits, then a sign, then the place: the first one.
    widths = np.array([_first_normal(generator, 1 << 9 | strip) for strip in range(_STRIPS)])
    inner = np.array([widths[-1], 0.0, *widths[1:-1]])
    heights = np.exp(-0.5 * (widths * _UNIT) ** 2)
    heights[0] = 1
    return widths, (inner / widths * _UNIT).astype("uint64"), heights


def _first_normal(generator: np.random.Generator, word: int) -> float:
    """Return the normal number that is drawn when the next 64 bits are `word`."""
    state: Any = generator.bit_generator.state
    # The draw is the exclusive or of the halves of the next state, turned by its highest 6 bits.
    before = (word - state["state"]["inc"]) * pow(_MULTIPLIER, -1, _MODULUS) % _MODULUS
    state["state"]["state"] = before
    generator.bit_generator.state = state
    return float(generator.standard_normal())


# ---- Random numbers in straight-line C: the same ones as NumPy draws from the same states
#
# States that are no arrays are kept as arrays of words: a Mersenne twister as 624 words, the position of the next one,
# whether there is a normal number left over, and that number in two words; a PCG64 as six words of 64 bits: state and
# increment with the higher halves first, whether half a word is left over, and that half.

_WORDS = 628
_MASK = (1 << 64) - 1
#: Ten standard deviations above it are still below 2**63.
_LARGEST_MEAN = float(2**63 - 1) - 10 * float(2**63 - 1) ** 0.5


@straight_value.register(RandomStateType)
def _twister_words(value: np.random.RandomState) -> Any:
    found: Any = value.get_state(legacy=False)
    if found["bit_generator"] not in ("MT19937", "Mersenne"):
        raise NoStraightForm(f"random numbers of {found['bit_generator']} have no form in C; MT19937 has one")
    words = np.zeros(_WORDS, "uint32")
    words[:624], words[624] = found["state"]["key"], found["state"]["pos"]
    if found["has_gauss"]:
        words[625], words[626:] = 1, np.array([found["gauss"]], "float64").view("uint32")
    return words


@straight_value.register(GeneratorType)
def _pcg_words(value: np.random.Generator) -> Any:
    state: Any = value.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise NoStraightForm(
            f"random numbers of {state['bit_generator']} have no form in C; PCG64 and MT19937 have one"
        )
    numbers = state["state"]["state"], state["state"]["inc"]
    left = state["has_uint32"], state["uinteger"]
    return np.array([*(part for n in numbers for part in (n >> 64, n & _MASK)), *left], "uint64")


# ---- draws from states of NumPy


@straight_op.register(RandomFunction)
def _draw(node: Apply[RandomFunction], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    op: RandomFunction = node.op
    state, size, *args = inputs
    twister = isinstance(node.inputs[0].type, RandomStateType)
    writer = (_TWISTER if twister else _PCG).get(op.fn)
    if writer is None or op.outtype.dtype == "float16":
        what = f"{op.name} of dtype {op.outtype.dtype} from a {'RandomState' if twister else 'Generator'}"
        names = ", ".join(sorted(getattr(fn, "__name__", str(fn)).removesuffix("_helper") for fn in _TWISTER))
        raise block.refuse(f"{what} has no form in C", f"draw one of {names}, or from MRG_RandomStreams")
    moved = _moved(block, state)
    shape = _shape(node, block, size, args)
    return [moved, writer(op, block, moved.pointer, shape, args)]


def _moved(block: Block, state: CArray) -> CArray:
    """Return a copy of a state that a draw may move."""
    moved = block.result(0, state.dtype, state.shape, (0,))
    if moved.pointer != state.pointer:
        block.copy(state, moved)
    return moved


def _shape(node: Apply[RandomFunction], block: Block, size: CArray, args: Sequence[CArray]) -> list[Length]:
    """Return the shape that the size says, or else the parameters."""
    op: RandomFunction = node.op
    ndim = op.outtype.ndim - op.ndim_added
    if size.shape[0] == ZERO:
        found: list[Length] = [Length(1)] * ndim
        for k, (x, variable) in enumerate(zip(args, node.inputs[2:], strict=True)):
            kind: Any = variable.type
            leading = x.ndim - _own_axes(op, k)
            for axis in range(leading):
                at = ndim - leading + axis
                if kind.shape[axis] != 1:
                    text = "parameters of a draw differ in length"
                    known = found[at] if found[at] != Length(1) else x.shape[axis]
                    found[at] = block.same(known, x.shape[axis], text)
        return found
    block.same(size.shape[0], Length(ndim), "a draw has another number of dimensions than was said")
    lengths = block.numbers(size, ndim)
    for length in lengths:
        block.at_least(length, 0, "a length in the size of a draw is negative")
    return lengths


def _own_axes(op: RandomFunction, k: int) -> int:
    """Return how many axes of a parameter belong to one draw: that of the categories."""
    return int(op.fn is multinomial_helper and k == 1)


def _strides(block: Block, x: CArray, shape: Sequence[Length]) -> list[Length]:
    """Return strides by which a parameter broadcasts to the shape of a draw."""
    strides = [ZERO] * (len(shape) - x.ndim)
    for length, stride, length_needed in zip(x.shape, x.strides, shape[len(strides) :], strict=True):
        if length == Length(1):
            strides.append(ZERO)
        elif length == length_needed or length.known:
            block.same(length, length_needed, "a parameter of a draw has another length than the size says")
            strides.append(stride)
        else:
            text = "a parameter of a draw has another length than the size says"
            block.check(f"{length.atom} == {length_needed.atom} || {length.atom} == 1", text)
            strides.append(block.length(f"{length.atom} == 1 ? 0 : {stride}"))
    return strides


#: Writes a draw: op, block, pointer to the state, shape, parameters.
_Draw = Callable[[RandomFunction, Block, str, Sequence[Length], Sequence[CArray]], CArray]


def _elementwise(
    op: RandomFunction,
    block: Block,
    shape: Sequence[Length],
    args: Sequence[CArray],
    number: Callable[[list[str], CArray, str], None],
) -> CArray:
    """Write the loop over all numbers of a draw, in C order; `number` writes one, from parameters to an element."""
    target = block.result(1, op.outtype.dtype, shape)
    strides = [*(_strides(block, x, shape) for x in args), list(target.strides)]
    with block.scope(not shape), block.loops(block.nest(shape, (), strides), independent=False) as offsets:
        number([x.load(at).text for x, at in zip(args, offsets, strict=False)], target, offsets[-1])
    return target


def _uniform(routine: str) -> _Draw:
    def write(op: RandomFunction, block: Block, state: str, shape: Sequence[Length], args: Sequence[CArray]) -> CArray:
        def number(arguments: list[str], target: CArray, at: str) -> None:
            low, high, x = block.fresh("x"), block.fresh("x"), block.fresh("x")
            block.let("double", low, arguments[0])
            block.let("double", high, arguments[1])
            drawn = f"{low} + ({high} - {low}) * {block.call(routine, state)}"
            if target.dtype == "float32":
                # Rounding must not reach the upper bound, which is excluded.
                first = block.fresh("x")
                block.let("double", first, drawn, moves=True)
                bounds = f"(float){high}", f"(float){low}"
                drawn = f"(float){first} == {bounds[0]} && {bounds[0]} != {bounds[1]}"
                drawn += f" ? nextafterf({', '.join(bounds)}) : {first}"
            block.let("double", x, drawn, moves=target.dtype != "float32")
            block.store(target, at, CValue(x, "float64"))

        return _elementwise(op, block, shape, args, number)

    return write


def _normal(draw: Callable[[Block, str], str]) -> _Draw:
    def write(op: RandomFunction, block: Block, state: str, shape: Sequence[Length], args: Sequence[CArray]) -> CArray:
        drawn = draw(block, state)

        def number(arguments: list[str], target: CArray, at: str) -> None:
            block.check(f"{arguments[1]} >= 0", "normal: the standard deviation is negative")
            x = block.fresh("x")
            block.let("double", x, f"{arguments[0]} + (double){arguments[1]} * {drawn}", moves=True)
            block.store(target, at, CValue(x, "float64"))

        return _elementwise(op, block, shape, args, number)

    return write


def _twister_normal(block: Block, state: str) -> str:
    return block.call("theano_twister_normal", state)


def _pcg_normal(block: Block, state: str) -> str:
    return block.call("theano_pcg_normal", state, *(block.constant(table).pointer for table in ziggurat()))


def _binomial(real: str, condition: str = "") -> _Draw:
    """Return the writer of counts of successes; where `condition` is not met, nothing is drawn, and the count is 0."""

    def write(op: RandomFunction, block: Block, state: str, shape: Sequence[Length], args: Sequence[CArray]) -> CArray:
        block.routines.add(real)

        def number(arguments: list[str], target: CArray, at: str) -> None:
            n, p, x = block.fresh("x"), block.fresh("x"), block.fresh("x")
            block.let("int64_t", n, f"(int64_t){arguments[0]}")
            block.let("double", p, arguments[1])
            block.check(f"{n} >= 0", "binomial: the number of trials is negative")
            block.check(f"{p} >= 0 && {p} <= 1", "binomial: the probability is not between 0 and 1")
            drawn = block.call("theano_binomial", real, state, n, p)
            chosen = f"{condition.format(n=n, p=p)} ? {drawn} : 0" if condition else drawn
            block.let("int64_t", x, chosen, moves=True)
            block.store(target, at, CValue(x, "int64"))

        return _elementwise(op, block, shape, args, number)

    return write


def _poisson(real: str) -> _Draw:
    def write(op: RandomFunction, block: Block, state: str, shape: Sequence[Length], args: Sequence[CArray]) -> CArray:
        block.routines.add(real)

        def number(arguments: list[str], target: CArray, at: str) -> None:
            mean, x = block.fresh("x"), block.fresh("x")
            block.let("double", mean, arguments[0])
            # The bound is that of NumPy: numbers that a draw gives are to fit in 64 bits.
            text = "poisson: the mean is negative or too large"
            block.check(f"{mean} >= 0 && {mean} <= {_LARGEST_MEAN!r}", text)
            block.let("int64_t", x, block.call("theano_poisson", real, state, mean), moves=True)
            block.store(target, at, CValue(x, "int64"))

        return _elementwise(op, block, shape, args, number)

    return write


def _integers(routine: str) -> _Draw:
    def write(op: RandomFunction, block: Block, state: str, shape: Sequence[Length], args: Sequence[CArray]) -> CArray:
        def number(arguments: list[str], target: CArray, at: str) -> None:
            low, high, x = block.fresh("x"), block.fresh("x"), block.fresh("x")
            block.let("int64_t", low, arguments[0])
            block.let("int64_t", high, arguments[1])
            block.check(f"{low} <= {high}", "random_integers: a lower bound is above the upper one")
            drawn = block.call(routine, state, f"(uint64_t){high} - (uint64_t){low}")
            block.let("int64_t", x, f"(int64_t)((uint64_t){low} + {drawn})", moves=True)
            block.store(target, at, CValue(x, "int64"))

        return _elementwise(op, block, shape, args, number)

    return write


def _permutation(routine: str) -> _Draw:
    def write(op: RandomFunction, block: Block, state: str, shape: Sequence[Length], args: Sequence[CArray]) -> CArray:
        n = block.number(args[0])
        block.at_least(n, 0, "permutation: the number of integers is negative")
        is_int64 = op.outtype.dtype == "int64"
        full_shape = (*shape, n)
        counts = block.result(1, "int64", full_shape) if is_int64 else block.allocate("int64", full_shape, local=True)
        k, i, j, held, row = (block.fresh(prefix) for prefix in ("i", "i", "i", "x", "p"))
        with block.loop(k, product_of(shape)):
            block.let("int64_t *", row, f"{counts.pointer} + {k} * {n.atom}")
            with block.loop(i, n):
                block.line(f"{row}[{i}] = {i};")
            with block.block(f"for (int64_t {i} = {n} - 1; {i} > 0; {i}--)", (i,)):
                block.let("int64_t", j, f"(int64_t){block.call(routine, state, f'(uint64_t){i}')}", moves=True)
                block.let("int64_t", held, f"{row}[{i}]")
                block.line(f"{row}[{i}] = {row}[{j}];")
                block.line(f"{row}[{j}] = {held};")
        if is_int64:
            return counts
        result = block.result(1, op.outtype.dtype, full_shape)
        with block.loops(block.nest(full_shape, (counts, result))) as (a, b):
            block.store(result, b, counts.load(a))
        return result

    return write


@cache
def _draws_for_nothing() -> bool:
    """Tell whether `numpy.random.RandomState.multinomial` draws where there are no trials, as from NumPy 2.5 on."""
    state = np.random.RandomState(0)
    state.multinomial(0, [0.5, 0.5])
    return bool(state.random_sample() != np.random.RandomState(0).random_sample())


def _multinomial(real: str, always: Callable[[], bool]) -> _Draw:
    def write(op: RandomFunction, block: Block, state: str, shape: Sequence[Length], args: Sequence[CArray]) -> CArray:
        block.routines.add(real)
        trials, chances = args
        count = chances.shape[-1]
        target = block.result(1, op.outtype.dtype, (*shape, count))
        p, x = (block.allocate(dtype, (count,), local=True) for dtype in ("float64", "int64"))
        leading = block.view(chances, chances.shape[:-1], chances.strides[:-1])
        strides = [*(_strides(block, v, shape) for v in (trials, leading)), list(target.strides[:-1])]
        with block.scope(not shape), block.loops(block.nest(shape, (), strides), independent=False) as offsets:
            n, j = block.fresh("x"), block.fresh("i")
            block.let("int64_t", n, f"(int64_t){trials.load(offsets[0]).text}")
            block.check(f"{n} >= 0", "multinomial: the number of trials is negative")
            with block.loop(j, count):
                at = f"{offsets[1]} + {j} * {chances.strides[-1].atom}"
                block.line(f"{p.pointer}[{j}] = {chances.load(at).text};")
            arguments = (real, state, n, count, p.pointer, x.pointer, int(always()))
            text = "multinomial: probabilities are negative, or add up to more than 1"
            block.check(f"{block.call('theano_multinomial', *arguments)} == 0", text)
            with block.loop(j, count):
                block.store(target, f"{offsets[2]} + {j}", CValue(f"{x.pointer}[{j}]", "int64"))
        return target

    return write


_TWISTER: dict[Any, _Draw] = {
    "uniform": _uniform("theano_twister_real"),
    "normal": _normal(_twister_normal),
    "binomial": _binomial("theano_twister_draw"),
    "poisson": _poisson("theano_twister_draw"),
    random_integers_helper: _integers("theano_twister_below"),
    permutation_helper: _permutation("theano_twister_below"),
    multinomial_helper: _multinomial("theano_twister_draw", _draws_for_nothing),
}
_PCG: dict[Any, _Draw] = {
    "uniform": _uniform("theano_pcg_real"),
    "normal": _normal(_pcg_normal),
    "binomial": _binomial("theano_pcg_draw", "{n} > 0 && {p} > 0"),
    "poisson": _poisson("theano_pcg_draw"),
    random_integers_helper: _integers("theano_pcg_below"),
    permutation_helper: _permutation("theano_pcg_masked"),
    multinomial_helper: _multinomial("theano_pcg_draw", bool),
}


# ---- streams of MRG31k3p


@straight_op.register(MRGUniform)
def _streams(node: Apply[MRGUniform], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    states, size = inputs
    dtype, ndim = node.op.output_type.dtype, node.op.output_type.ndim
    block.same(states.shape[1], Length(6), "states of streams have other than six numbers")
    block.same(size.shape[0], Length(ndim), "a draw has another number of dimensions than was said")
    shape = block.numbers(size, ndim)
    for length in shape:
        block.at_least(length, 0, "a length in the size of a draw is negative")
    n, total = states.shape[0], product_of(shape)
    if not (n.known and n.factor > 0):
        block.check(f"{n.atom} > 0 || {total.atom} == 0", "there is no stream to draw from")
    if not total.known or total.factor > M1:
        block.check(f"{total.atom} <= {M1}", f"one draw takes at most {M1} numbers")
    moved = _moved(block, states)
    target = block.result(1, dtype, shape)
    first, j, z = block.fresh("i"), block.fresh("i"), block.fresh("z")
    rounds = block.block(f"for (int64_t {first} = 0; {first} < {total}; {first} += {n})")
    with rounds, block.block(f"for (int64_t {j} = 0; {j} < {n} && {first} + {j} < {total}; {j}++)"):
        block.let("int32_t", z, block.call("theano_mrg_next", f"{moved.pointer} + 6 * {j}"), moves=True)
        block.store(target, f"{first} + {j}", _number(z, dtype))
    return [moved, target]


def _number(z: str, dtype: str) -> CValue:
    """Return the output of a stream as a number between 0 and 1."""
    if dtype == "float32":
        return CValue(f"((float){z} * {SCALES[dtype]!r}f)", "float32")
    if dtype == "float16":
        return CValue(f"((float)(({z} & 0x7fff) + 1) * {SCALES[dtype]!r}f)", "float32")
    return CValue(f"({z} * {SCALES[dtype]!r})", "float64")


# ---- Draws of categories from uniform numbers, in straight-line C


class _Rows:
    """The loops over rows of probabilities and draws."""

    def __init__(self, node: Apply[Any], block: Block, inputs: Sequence[CArray]) -> None:
        self.block, self.dtype = block, str(node.outputs[0].type.dtype)
        self.chances, self.numbers, count = inputs
        self.rows, self.k = self.chances.shape
        self.draws = block.number(count)
        block.at_least(self.draws, 0, "the number of draws is negative")
        wanted = self.rows * self.draws
        block.same(self.numbers.shape[0], wanted, "draws need as many uniform numbers")
        self.p, self.total = block.fresh("p"), block.fresh("x")
        self.row, self.draw, self.u = block.fresh("i"), block.fresh("i"), block.fresh("x")

    def begin_row(self, places: CArray) -> None:
        """Write the loop that reads the probabilities of a row, and adds them."""
        block, j = self.block, self.block.fresh("j")
        block.let("double *", self.p, places.pointer)
        block.let("double *", f"{self.p}_taken", f"{self.p} + {self.k}")
        block.variable("double", self.total, "0")
        at = f"{self.row} * {self.chances.strides[0].atom} + {j} * {self.chances.strides[1].atom}"
        with block.loop(j, self.k):
            block.line(f"{self.p}[{j}] = {self.chances.load(at).text};")
            block.line(f"{self.total} += {self.p}[{j}];", changes=(self.total,))
            block.line(f"{self.p}_taken[{j}] = 0;")

    def uniform(self) -> None:
        """Write the load of the uniform number of a draw."""
        at = f"({self.draw} * {self.rows.atom} + {self.row}) * {self.numbers.strides[0].atom}"
        self.block.let("double", self.u, self.numbers.load(at).text)

    @contextmanager
    def each_draw(self) -> Iterator[None]:
        """Write the loops over rows and over draws, with their first statements."""
        block, places = self.block, self.places()
        with block.block(f"for (int64_t {self.row} = 0; {self.row} < {self.rows}; {self.row}++)"):
            self.begin_row(places)
            with block.block(f"for (int64_t {self.draw} = 0; {self.draw} < {self.draws}; {self.draw}++)"):
                self.uniform()
                yield

    def category(self, number: str, closed: str) -> str:
        """Return the call that finds the category of a number."""
        return self.block.call("theano_category", self.p, self.k, number, closed)

    def places(self) -> CArray:
        """Return memory for the probabilities of a row, and for which of them have been taken."""
        return self.block.allocate("float64", (self.block.sum([self.k * Length(2), Length(1)]),), local=True)


@straight_op.register(MultinomialFromUniform)
def _counts(node: Apply[MultinomialFromUniform], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    rows = _Rows(node, block, inputs)
    target = block.result(0, rows.dtype, (rows.rows, rows.k))
    with block.loops(block.nest(target.shape, (target,))) as (at,):
        block.store(target, at, CValue("0", rows.dtype, 0))
    with rows.each_draw():
        j = block.fresh("j")
        block.let("int64_t", j, rows.category(rows.u, f"{rows.total} > {1 - SLACK!r}"))
        at = f"{rows.row} * {rows.k.atom} + {j}"
        one = CValue(f"({target.load(at).text} + 1)", rows.dtype)
        with block.block(f"if ({j} >= 0)"):
            block.store(target, at, one)
    return [target]


@straight_op.register(ChoiceFromUniform)
def _chosen(node: Apply[ChoiceFromUniform], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    rows = _Rows(node, block, inputs)
    most = f"{rows.draws.atom} == 0 || {rows.k.atom} > 0" if node.op.replace else f"{rows.draws.atom} <= {rows.k.atom}"
    block.check(most, "there are not so many categories")
    target = block.result(0, rows.dtype, (rows.rows, rows.draws))
    with rows.each_draw():
        j = block.fresh("j")
        block.variable("int64_t", j, "0")
        with block.block(f"if ({rows.total} > 0)"):
            (_with if node.op.replace else _without)(rows, j)
        at = f"{rows.row} * {rows.draws.atom} + {rows.draw}"
        block.store(target, at, CValue(j, "int64"))
    return [target]


def _with(rows: _Rows, j: str) -> None:
    rows.block.assign(j, rows.category(f"{rows.u} * {rows.total}", "1"))


def _without(rows: _Rows, j: str) -> None:
    block, left, at = rows.block, rows.block.fresh("x"), rows.block.fresh("j")
    block.variable("double", left, "0")
    with block.loop(at, rows.k):
        block.line(f"{left} += {rows.p}[{at}];", changes=(left,))
    block.assign(j, f"{left} > 0 ? {rows.category(f'{rows.u} * {left}', '1')} : -1")
    with block.block(f"if ({j} < 0)"):
        block.assign(j, "0")
        block.line(f"while ({rows.p}_taken[{j}] != 0) {j}++;", changes=(j,))
    block.line(f"{rows.p}[{j}] = 0;")
    block.line(f"{rows.p}_taken[{j}] = 1;")


__all__ = ["ziggurat"]
