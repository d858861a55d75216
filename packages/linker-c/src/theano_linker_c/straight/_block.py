"""C statements of a program as they are written: names, loops, checks, and memory for results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np

from theano_graph import format_error, record

from ..codegen.ir import Check, Index, LoopKind, Statement, value_of_text
from ..codegen.passes import named_in
from ..kernels import memory_type
from ..runtime._instructions import Instruction
from ._arrays import (
    ONE,
    ZERO,
    CArray,
    Length,
    Nest,
    NoStraightForm,
    Root,
    Statements,
    as_length,
    contiguous_strides,
    joined_nest,
)

__all__ = ["Block", "Message", "Place", "Step", "takes_memory"]

#: Longer constants whose elements are all the same are one element.
_EQUAL = 8
#: As many elements of constant vectors of integers are known as lengths.
_NUMBERS = 64
#: Operations that take memory at run time.
_TAKE = "theano_take"


@record
class Message:
    """The text of a status code: the node, the line that made it, and the fault."""

    node: str
    line: str
    text: str

    def __str__(self) -> str:
        at = f" ({self.line})" if self.line else ""
        return f"{self.node}{at}: {self.text}"


class Place(Protocol):
    """Memory in which a value may be put."""

    @property
    def pointer(self) -> str:
        """C text of a pointer to the first element."""

    @property
    def root(self) -> Root:
        """A description of the memory."""

    def takes(self, dtype: str, shape: tuple[Length, ...]) -> bool:
        """Tell whether a value of a dtype and shape can be put there."""


@record
class Step:
    """The instruction that is being written.

    Attributes
    ----------
    instruction : Instruction
    inputs : sequence of CArray
    targets : mapping of int to Place
        Registers whose values are wanted in given memory.
    """

    instruction: Instruction
    inputs: tuple[CArray, ...]
    targets: Any


class Block(Statements):
    """The statements of a function, in the order in which they run.

    Parameters
    ----------
    fail : str
        The reaction to a failed check, with ``{}`` for the status code.
    look : str
        Statement at the beginning of each step of long loops.

    Attributes
    ----------
    messages : list of Message
        Those of the status codes, which count from 1.
    roots : list of Root
        Memory of known size that the function needs while it runs.
    tables : dict of str to ndarray
        Constant arrays, by the names that statements may call them.
    routines : set of str
        Names of functions of the library that the statements call.
    takes_memory : bool
        Whether there are arrays whose sizes are known at run time only.
    guards : int
        In how many branches the present statements are, which a call may not reach.
    largest_product : float
        Multiplications of the largest product, infinity where lengths are not known.
    looked_up : frozenset of int
        Registers of elements of other arrays that loops look up, so that they need no memory.
    """

    def __init__(self, fail: str = "return {};", look: str = "") -> None:
        super().__init__()
        self.look = look
        self.messages: list[Message] = []
        self.roots: list[Root] = []
        self.tables: dict[str, Any] = {}
        self.preamble: dict[str, None] = {}
        self.routines: set[str] = set()
        self.takes_memory = False
        self.guards = 0
        self.largest_product = 0.0
        self.looked_up: frozenset[int] = frozenset()
        self.time = 0
        self.step: Step | None = None
        self.failure = fail
        self._names = 0
        self._numbers: dict[str, int] = {}
        self._codes: dict[Message, int] = {}
        self._table_names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    # ---- names

    @property
    def names(self) -> int:
        """The number in the name that was made last; those of later names are larger."""
        return self._names

    def is_fixed(self, name: str, mark: int) -> bool:
        """Tell whether a name was made before the one with a number, or is not made here."""
        return self._numbers.get(name, 0) <= mark

    def fresh(self, prefix: str) -> str:
        """Return a name that has not been used."""
        self._names += 1
        name = f"{prefix}{self._names}"
        self._numbers[name] = self._names
        return name

    def call(self, routine: str, *arguments: object) -> str:
        """Return the text of a call of a function of the library, which is put into the file."""
        self.routines.add(routine)
        return f"{routine}({', '.join(map(str, arguments))})"

    # ---- failures

    def _message(self, text: str) -> Message:
        if self.step is None:
            return Message("the arguments", "", text)
        node = self.step.instruction.node
        return Message(str(node.op), "" if node.origin is None else str(node.origin), text)

    def refuse(self, text: str, hint: str) -> NoStraightForm:
        """Return the exception for a node that cannot be written."""
        return NoStraightForm(format_error(str(self._message(text)), hint=hint))

    def code(self, text: str) -> int:
        """Return the status code that says so of the present node."""
        message = self._message(text)
        number = self._codes.get(message)
        if number is None:
            self.messages.append(message)
            number = self._codes[message] = len(self.messages)
        return number

    def check(self, condition: str, text: str) -> None:
        """End the call with an error unless a condition holds."""
        self.add(Check(value_of_text(condition, "bool"), self.code(text)))

    def same(self, a: Length, b: Length, text: str) -> Length:
        """Return a length that must be equal to another one; the call looks where it is not known.

        Raises
        ------
        NoStraightForm
            If they are known to differ.
        """
        if a == b:
            return a
        if a.known and b.known:
            self._never(f"{text}: {a} and {b}", "pass operands whose lengths fit each other")
            return a
        self.check(f"{a.atom} == {b.atom}", text)
        return a if a.known else b

    def at_least(self, a: Length, least: int, text: str) -> None:
        """End the call with an error if a length is shorter."""
        if not a.known:
            self.check(f"{a.atom} >= {least}", text)
        elif a.factor < least:
            self._never(text, "pass longer operands")

    def _never(self, text: str, hint: str) -> None:
        """Refuse a known fault; where it may not be reached, a call that reaches it fails."""
        if not self.guards:
            raise self.refuse(text, hint)
        self.add(Check(None, self.code(text)))

    def spread(
        self, x: CArray, shape: Sequence[Length], broadcastable: Sequence[bool], text: str
    ) -> tuple[list[Length], list[Length]]:
        """Return the strides of an array that is spread over a shape, and the shape, with the array's lengths in it.

        Parameters
        ----------
        x : CArray
            Has the last dimensions of the shape; broadcast ones have length 1.
        shape : sequence of Length
        broadcastable : sequence of bool
            Of the dimensions of x.
        text : str
            The message where lengths differ.
        """
        lengths, offset = list(shape), len(shape) - x.ndim
        strides = [ZERO] * offset
        for axis, fixed in enumerate(broadcastable):
            if fixed:
                self.same(x.shape[axis], ONE, f"axis {axis} of the values broadcasts, and has not length 1")
            else:
                lengths[axis + offset] = self.same(lengths[axis + offset], x.shape[axis], f"{text} along axis {axis}")
            strides.append(ZERO if fixed else x.strides[axis])
        return strides, lengths

    # ---- numbers

    def length(self, text: str, *, total: bool = True) -> Length:
        """Define a constant for a whole number, and return it.

        Parameters
        ----------
        text : str
        total : bool
            Whether it can be computed wherever its variables are known: it reads no memory, and divides by no variable.
        """
        name = self.fresh("n")
        self.let("int64_t", name, value_of_text(text, total=total))
        return Length(1, (name,))

    def sum(self, parts: Sequence[Length]) -> Length:
        """Return the sum of lengths of which it is known that it is no larger than C can count, or of strides."""
        constant = sum(part.factor for part in parts if part.known)
        others = [part for part in parts if not part.known]
        if not others:
            return Length(constant)
        if len(others) == 1 and not constant:
            return others[0]
        return self.length(" + ".join([*map(str, others), *([str(constant)] if constant else [])]))

    def total(self, parts: Sequence[Length], text: str) -> Length:
        """Return the sum of lengths from 0 up; the call ends with an error if C cannot count so far."""
        constant = sum(part.factor for part in parts if part.known)
        others = [str(part) for part in parts if not part.known]
        if not others or (len(others) == 1 and not constant):
            return self.sum(parts)
        terms = [*others, *([str(constant)] if constant else [])]
        total = self.length(reduce(partial(self.call, "theano_add_lengths"), terms))
        self.at_least(total, 0, text)
        return total

    def checked(self, product: Length) -> Length:
        """Return a product of lengths, as one that C calculates without overflow: -1 if C cannot count so far."""
        factors = [*product.names, *([str(product.factor)] if product.factor != 1 else [])]
        if len(factors) < 2:
            return product
        return self.length(reduce(partial(self.call, "theano_multiply_lengths"), factors))

    def number(self, array: CArray) -> Length:
        """Return the whole number that an array without dimensions holds."""
        if array.numbers is not None:
            return array.numbers[0]
        if array.value is not None:
            return Length(int(array.value))
        return self.length(f"(int64_t){array.load('0').text}", total=array.buffer.variable is not None)

    def numbers(self, array: CArray, count: int) -> list[Length]:
        """Return the first elements of a vector of whole numbers."""
        if array.numbers is not None:
            return list(array.numbers[:count])
        if array.value is not None:
            return [Length(int(number)) for number in array.value[:count]]
        stride = array.strides[0]
        places = [str(Length(k) * stride) for k in range(count)]
        return [self.length(f"(int64_t){array.load(target).text}", total=False) for target in places]

    # ---- memory

    def local(self, dtype: str, text: str | None = None) -> CArray:
        """Define a variable, and return it as an array without dimensions."""
        name = self.fresh("t")
        self.variable(memory_type(dtype), name, text)
        return CArray(dtype, (), (), f"&{name}", Root("local", name, dtype, ONE))

    def number_array(self, length: Length) -> CArray:
        """Return a length as an array without dimensions, of int64."""
        if length.known:
            return self.constant(np.asarray(length.factor, "int64"))
        name = self.fresh("t")
        self.variable("int64_t", name, str(length))
        return CArray("int64", (), (), f"&{name}", Root("local", name, "int64", ONE), numbers=(length,))

    def allocate(self, dtype: str, shape: Sequence[Length], *, local: bool = False) -> CArray:
        """Return memory for an array in C order, which is there until nobody reads it any more.

        Parameters
        ----------
        dtype : str
        shape : sequence of Length
        local : bool
            Whether it is needed by the present instruction only.
        """
        shape = tuple(map(as_length, shape))
        if not shape:
            return self.local(dtype)
        name, size = self.fresh("v"), ONE
        for length in shape:
            size = size * length
        root = Root("temporary", name, dtype, size)
        root.begin = self.time
        if size.known:
            self.roots.append(root)
        else:
            self.takes_memory = True
            self.take(name, dtype, size, defined=True)
        if local:
            root.end = self.time
        return CArray(dtype, shape, contiguous_strides(shape), name, root)

    def take(self, name: str, dtype: str, size: Length, *, defined: bool = False) -> None:
        """Add an operation that takes memory of a size known at run time; the size in bytes may be too large for C.

        Parameters
        ----------
        name : str
            Pointer to the memory.
        dtype : str
        size : Length
            Number of elements.
        defined : bool
            Whether the pointer is to be defined.
        """
        kind = memory_type(dtype)
        numbers = [str(size.factor)] if size.factor != 1 else []
        product = " * ".join([*numbers, *(f"(double){name}" for name in size.names)])
        text = f"({kind} *)" + self.call(_TAKE, "memory", f"{product} * sizeof({kind})")
        if defined:
            self.let(f"{kind} *", name, text)
        else:
            self.assign(name, text)
        self.check(f"{name} != NULL", "there is not enough memory")

    def result(self, k: int, dtype: str, shape: Sequence[Length], donors: Sequence[int] = ()) -> CArray:
        """Return memory for a result of the present instruction.

        Parameters
        ----------
        k : int
            Which output of the node.
        dtype : str
        shape : sequence of Length
        donors : sequence of int
            Inputs of which each element is read before, or when, the element of the result at its position is written.
        """
        shape = tuple(shape)
        assert self.step is not None, "results belong to an instruction"
        register = self.step.instruction.outputs[k]
        target = self.step.targets.get(register)
        if target is not None and target.takes(dtype, shape) and self._goes_along(target, shape, donors):
            return CArray(dtype, shape, contiguous_strides(shape), target.pointer, target.root)
        for i in donors:
            operand = self.step.inputs[i]
            fits = shape and operand.dtype == dtype and operand.shape == shape and operand.contiguous
            if fits and self._dies(i) and self._goes_along(operand, shape, donors):
                return CArray(dtype, shape, contiguous_strides(shape), operand.pointer, operand.root)
        return self.allocate(dtype, shape)

    def _goes_along(self, wanted: Place | CArray, shape: tuple[Length, ...], donors: Sequence[int]) -> bool:
        """Tell whether the present instruction reads from memory for a result only elements that it then writes."""
        assert self.step is not None
        return all(
            i in donors and x.pointer == wanted.pointer and x.shape == shape and x.contiguous
            for i, x in enumerate(self.step.inputs)
            if x.root is wanted.root
        )

    def _dies(self, i: int) -> bool:
        """Tell whether nobody reads the memory of an input after the present instruction, but by that input."""
        assert self.step is not None
        register, root = self.step.instruction.inputs[i], self.step.inputs[i].root
        return root.writable and root.readers == 1 and register in self.step.instruction.release

    def constant(self, value: Any) -> CArray:
        """Return an array that is known, as a table in the file; it is written only if somebody reads it."""
        values = array = np.asarray(value)
        shape = tuple(map(Length, array.shape))
        strides = contiguous_strides(shape)
        if array.size > _EQUAL and _all_equal(array):
            array, strides = array.ravel()[:1], (ZERO,) * len(shape)
        key = array.dtype.name, array.shape, array.tobytes()
        name = self._table_names.get(key)
        if name is None:
            name = self._table_names[key] = self.fresh("c")
            self.tables[name] = array
        root = Root("constant", name, array.dtype.name, Length(array.size))
        numbers = None
        if values.dtype.kind in "iu" and values.ndim <= 1 and values.size <= _NUMBERS:
            numbers = tuple(Length(int(number)) for number in values.ravel())
        return CArray(array.dtype.name, shape, strides, name, root, values, numbers)

    def view(
        self,
        array: CArray,
        shape: Sequence[Length],
        strides: Sequence[Length],
        offset: str = "0",
        *,
        written: bool = False,
    ) -> CArray:
        """Return an array in the memory of another one, from an element on; `written` says that it is written to."""
        pointer = array.pointer
        if offset != "0":
            pointer = self.fresh("p")
            kind = memory_type(array.dtype)
            const = "const " if array.root.kind in ("argument", "constant", "state") and not written else ""
            self.let(f"{const}{kind} *", pointer, f"{array.pointer} + {offset}")
        clean = tuple(ZERO if length == ONE else stride for length, stride in zip(shape, strides, strict=True))
        return CArray(array.dtype, tuple(shape), clean, pointer, array.root)

    # ---- loops

    def nest(self, shape: Sequence[Length], operands: Sequence[CArray], strides: Any = None) -> Nest:
        """Return the loops over the elements of arrays that have one shape."""
        return joined_nest(shape, [x.strides for x in operands] if strides is None else strides)

    @contextmanager
    def places(self, nest: Nest, *, independent: bool = True) -> Iterator[list[Index]]:
        """Add nested loops over the statements that follow; gives the place of the element of each operand.

        Parameters
        ----------
        nest : Nest
        independent : bool
            Whether turns of the innermost loop may run at the same time.
        """
        indices = [self.fresh("i") for _ in nest.shape]
        with ExitStack() as stack:
            for k, (index, length) in enumerate(zip(indices, nest.shape, strict=True)):
                vector = independent and k == len(indices) - 1
                stack.enter_context(self.loop(index, length, LoopKind.VECTOR if vector else LoopKind.SERIAL))
            yield [Index.of(indices, row) for row in nest.strides]

    @contextmanager
    def loops(self, nest: Nest, *, independent: bool = True) -> Iterator[list[str]]:
        """Add nested loops as :meth:`places` does; gives the C text of the places."""
        with self.places(nest, independent=independent) as places:
            yield [str(target) for target in places]

    def copy(self, source: CArray, target: CArray) -> None:
        """Add a loop that copies all elements of an array to another one of the same shape, converted if need be."""
        if source.dtype == target.dtype and source.contiguous and target.contiguous and source.shape:
            size = f"(size_t)({source.size}) * sizeof({memory_type(source.dtype)})"
            self.line(f"memcpy({target.pointer}, {source.pointer}, {size});")
            return
        with self.places(self.nest(source.shape, (source, target))) as (a, b):
            if source.dtype == target.dtype:
                self.move(source, a, target, b)
            else:
                self.store(target, b, source.read(a))

    def in_order(self, array: CArray) -> CArray:
        """Return an array in C order: the given one, or a copy that the present instruction needs."""
        if array.contiguous:
            return array
        copy = self.allocate(array.dtype, array.shape, local=True)
        self.copy(array, copy)
        return copy


def takes_memory(statements: Sequence[Statement]) -> bool:
    """Tell whether statements take memory at run time."""
    return _TAKE in named_in(statements)


def _all_equal(array: Any) -> bool:
    """Tell whether all elements have the same bits."""
    first = array.ravel()[:1].tobytes()
    return bool(array.tobytes() == first * array.size)
