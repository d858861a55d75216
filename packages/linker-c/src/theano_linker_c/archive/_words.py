"""The archive reader's allowlist for this layer: shared variables, scalar ops and modes."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_graph import Type, Variable
from theano_graph.safe_loading import (
    FORMS,
    LEAVES,
    VARIABLE_CHECKS,
    ClassWord,
    Form,
    Function,
    ObjectForm,
    Pending,
    Reader,
    RecordForm,
    Value,
    Word,
    class_words,
    is_int,
    is_text,
    refused,
    tuple_of,
)
from theano_optimize import RewriteQuery

from .. import scalar
from ..linkers import Linker
from ..modes import Mode
from ..ops import Print
from ..runtime._storage import Container, SharedVariable
from ..scalar import Composite, ScalarOp
from ..scalar._dtypes import ALL_DTYPES
from ..scalar._normal_form import ScalarProgram, ScalarStep
from ._numpy_words import numpy_words

# ---- The archive reader's allowlist for shared variables, scalar ops and modes

LEAVES.extend([np.generic, np.ndarray, np.dtype, np.random.RandomState, np.random.Generator, Container, Linker, Mode])

#: Classes by modules. Not here, on purpose: ops and types that bring C code or functions of their own (`COp`,
#: `CDataType`, enumerations of C, `FromFunctionOp`), and ops that stop in a debugger (`PdbBreakpoint`).
_CLASSES = MappingProxyType(
    {
        "theano_linker_c.runtime._storage": "SharedVariable",
        "theano_linker_c.ops": "DeepCopyOp OutputGuard ViewOp",
        "theano_linker_c.scalar._derivative": "NoDerivative",
        "theano_linker_c.scalar._type": "ScalarConstant ScalarType ScalarVariable",
    }
)
#: The methods that `Print` may call: methods that only read.
_PRINTED = frozenset({"T", "__repr__", "__str__", "all", "any", "argmax", "argmin", "dtype", "flags", "itemsize"})
_PRINTED |= {"max", "mean", "min", "nbytes", "ndim", "prod", "shape", "size", "std", "strides", "sum", "tolist", "var"}
_MOST_STEPS = 10_000


class _ContainerForm(Form):
    """Cells of shared variables."""

    def build(self, reader: Reader, word: ClassWord, op: Any, state: Any) -> None:
        """Fill a cell; its value has to be one of its type."""
        if type(state) is not dict:
            raise refused("the archive has a container of a form that is not known")
        kind, name, storage = state.get("type"), state.get("name"), state.get("storage")
        options = [state.get("readonly", False), state.get("strict", False), state.get("allow_downcast")]
        if not isinstance(kind, Type) or not (name is None or isinstance(name, str)):
            raise refused("the archive has a container without a type")
        if type(storage) is not list or len(storage) != 1 or isinstance(storage[0], (Word, Pending)):
            raise refused("the archive has a container without a place for its value")
        if not all(option in (True, False, None) for option in options):
            raise refused("the archive has a container with options that do not exist")
        reader.complete(kind)
        value = storage[0]
        if value is not None:
            try:
                value = kind.filter(value, strict=True)
            except (AttributeError, TypeError, ValueError) as error:
                raise refused(f"the archive has a shared value that is none of {kind}") from error
        readonly, strict, downcast = options
        Container.__init__(
            op, kind, [value], readonly=bool(readonly), strict=bool(strict), allow_downcast=downcast, name=name
        )


def _check_shared(variable: Any) -> None:
    container = getattr(variable, "container", None)
    if type(container) is not Container or not hasattr(container, "storage"):
        raise refused("the archive has a shared variable without a container")
    update = getattr(variable, "_default_update", ())
    if update is not None and not isinstance(update, Variable):
        raise refused("the archive has a shared variable with an update that is no expression")
    value = container.storage[0]
    if container.type != variable.type:
        raise refused("the archive has a shared variable with a container for another type")
    if value is not None and container.type.exact != variable.type.exact:
        try:
            variable.type.filter(value, strict=True)
        except (TypeError, ValueError) as error:
            raise refused(f"the archive has a shared value that is none of {variable.type}") from error


def _print_arguments(state: dict[str, Any]) -> tuple[tuple[()], dict[str, Any]]:
    attrs = state.get("attrs", ())
    if not set(attrs) <= _PRINTED:
        raise refused(f"the archive prints attributes of values ({', '.join(attrs):.60}) that more is done for")
    return (), {name: state[name] for name in ("message", "attrs", "global_fn") if name in state}


class _ModeForm(Form):
    """Modes: made anew of the names, or queries, that they were made of."""

    def build(self, reader: Reader, word: ClassWord, op: Any, state: Any) -> None:
        """Make a mode."""
        linker, optimizer = (state.get(name) if type(state) is dict else () for name in _PROVIDED)
        if isinstance(linker, Linker):
            reader.complete(linker)
        elif not (linker is None or type(linker) is str):
            raise refused("the archive has a mode with a linker of its own")
        if type(optimizer) is RewriteQuery:
            reader.complete(optimizer)
        elif not (optimizer is None or type(optimizer) is str):
            raise refused("the archive has a mode with a rewriter of its own")
        if isinstance(state.get("_optimizer"), RewriteQuery):
            reader.complete(state["_optimizer"])
        Mode.__init__(op, linker, optimizer)


_PROVIDED = ("provided_linker", "provided_optimizer")


class _LinkerForm(Form):
    """Linkers: a name and truth values."""

    def build(self, reader: Reader, word: ClassWord, op: Any, state: Any) -> None:
        """Fill a linker."""
        usual = (word.target("py") if word.target is Linker else word.target()).__getstate__()
        if type(state) is not dict or not state.keys() <= usual.keys() or state.get("callback") is not None:
            raise refused("the archive has a linker of a form that is not known")
        for name, value in state.items():
            if value not in (True, False, None) and not (name == "name" and is_text(value)):
                raise refused(f"the archive has a linker with {value!r:.40} as `{name}`")
        op.__setstate__({**usual, **state})


def _is_names(value: Any) -> bool:
    return type(value) is frozenset and all(type(name) is str for name in value)


# ---- scalar programs


class _ProgramForm(RecordForm):
    """Scalar programs: each step takes results of earlier ones."""

    def build(self, reader: Reader, word: ClassWord, op: Any, state: Any) -> None:
        """Fill and check a program."""
        super().build(reader, word, op, state)
        count = len(op.input_dtypes)
        if len(op.steps) > _MOST_STEPS or not op.outputs:
            raise refused("the archive has a scalar program of a length that none has")
        for dtype, data in op.constants:
            if len(data) != np.dtype(dtype).itemsize:
                raise refused("the archive has a scalar program with a constant that is none")
        for step in op.steps:
            dtypes = [_dtype_of(op, number, count) for number in step.args]
            if list(step.op.result_dtypes(*dtypes)) != [step.dtype] or step.op.nin not in (-1, len(dtypes)):
                raise refused("the archive has a scalar program with a step of another dtype than its op has")
            count += 1
        for number in op.outputs:
            _dtype_of(op, number, count)


def _dtype_of(program: ScalarProgram, number: int, n_inputs: int) -> str:
    if not -len(program.constants) <= number < n_inputs:
        raise refused("the archive has a scalar program that uses a value before it has it")
    return program.dtype_of(number)


def _is_constant(value: Any) -> bool:
    return type(value) is tuple and list(map(type, value)) == [str, bytes] and value[0] in ALL_DTYPES


def _is_dtype(value: Any) -> bool:
    return is_text(value) and value in ALL_DTYPES


class _CompositeForm(ObjectForm):
    """Ops of programs."""

    def new(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return nothing: they are made of programs."""
        raise refused(f"the archive makes an instance of {word} without a program")


class _FromProgram(Word):
    """The method that makes composites."""

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return the op of a program."""
        if len(arguments) != 1 or type(arguments[0]) is not ScalarProgram or not hasattr(arguments[0], "outputs"):
            raise refused("the archive makes a composite of something that is no program")
        return Composite.from_program(arguments[0])


def _getattr(reader: Reader, word: Any, name: Any) -> Word:
    """Return the only attribute that archives ask for."""
    if not isinstance(word, ClassWord) or name != "from_program" or word.target is not Composite:
        raise refused("the archive asks for an attribute")
    return _FromProgram(word.module, f"{word.name}.from_program")


def _scalar_op(value: Any) -> bool:
    return isinstance(value, ScalarOp)


FORMS[Container] = _ContainerForm()
FORMS[Mode] = _ModeForm()
FORMS[Linker] = _LinkerForm()
FORMS[Print] = ObjectForm(_print_arguments)
FORMS[Composite] = _CompositeForm()
VARIABLE_CHECKS[SharedVariable] = _check_shared


_MODULES_OF_BASES = frozenset({"theano_linker_c.scalar._derivative", "theano_linker_c.scalar._op"})


def scalar_classes() -> dict[str, str]:
    """Return the classes of scalar ops that the vocabulary has, by modules."""
    classes: dict[str, list[str]] = {}
    for name, cls in vars(scalar).items():
        if isinstance(cls, type) and issubclass(cls, ScalarOp) and cls is not Composite and name in scalar.__all__:
            if cls.__module__ not in _MODULES_OF_BASES:
                classes.setdefault(cls.__module__, []).append(name)
    return {module: " ".join(names) for module, names in classes.items()}


def library_words() -> Iterator[Word]:
    """Yield the allowlist of this layer."""
    yield from class_words(_CLASSES)
    yield from class_words(scalar_classes())
    yield ClassWord("theano_linker_c.runtime._storage", "Container")
    yield ClassWord("theano_linker_c.modes", "Mode")
    for name in ("PerformLinker", "OpWiseCLinker", "CLinker", "VM_Linker"):
        yield ClassWord("theano_linker_c.linkers", name)
    yield ClassWord(
        "theano_optimize._database",
        "RewriteQuery",
        RecordForm(
            include=_is_names,
            require=_is_names,
            exclude=_is_names,
            position_cutoff=lambda value: type(value) in (int, float),
            _subqueries=lambda value: value == (),
            extra=lambda value: value == (),
            name=lambda value: value is None or is_text(value),
        ),
    )
    yield ClassWord("theano_linker_c.ops", "Print")
    yield Value("theano_linker_c.ops", "print_attributes")
    yield ClassWord(
        "theano_linker_c.scalar._normal_form",
        "ScalarStep",
        RecordForm(op=_scalar_op, args=tuple_of(is_int), dtype=_is_dtype),
    )
    yield ClassWord(
        "theano_linker_c.scalar._normal_form",
        "ScalarProgram",
        _ProgramForm(
            input_dtypes=tuple_of(_is_dtype),
            constants=tuple_of(_is_constant),
            steps=tuple_of(lambda value: type(value) is ScalarStep and hasattr(value, "dtype")),
            outputs=tuple_of(is_int),
        ),
    )
    yield ClassWord("theano_linker_c.scalar._composite", "Composite")
    yield Function("builtins", "getattr", _getattr)


# ---- The archive reader's allowlist for NumPy and this layer; see `theano_graph.safe_loading`


def words() -> Iterator[Word]:
    """Yield all words of this layer."""
    yield from numpy_words()
    yield from library_words()
