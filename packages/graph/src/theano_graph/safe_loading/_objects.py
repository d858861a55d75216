"""Checks of objects that an archive describes: their contents, and the graphs of nodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from .._config import config
from .._errors import format_error
from .._expression._nodes import Apply, Constant, Variable
from .._expression._op import PureOp
from .._expression._origin import Origin
from .._expression._type import Tag, Type
from .._modules import UnsafeArchiveError
from ._vocabulary import FORMS, LEAVES, ClassWord, Contents, Form, is_same, refused

if TYPE_CHECKING:
    from ._reader import Reader


# ---- Graphs of an archive: each node must be the one that its op makes of its inputs

#: Class -> the check of variables of this class and its subclasses; layers add theirs.
VARIABLE_CHECKS: dict[type, Callable[[Any], None]] = {}
_VERIFIED, _OPEN = "verified", "open"


def verify_graphs(reader: Reader, variables: Iterable[Any]) -> None:
    """Check variables and their ancestors; no variable is checked twice.

    Raises
    ------
    UnsafeArchiveError
        If a node is not complete, needs itself, or has outputs that its op would not give it.
    """
    state: dict[Any, str] = reader.notes.setdefault("verified", {})
    todo: list[Any] = [v if getattr(v, "owner", None) is None else v.owner for v in variables]
    while todo:
        node = todo[-1]
        mark = state.get(node)
        if mark == _VERIFIED:
            todo.pop()
        elif not isinstance(node, Apply):
            todo.pop()
            _check_variable(reader, node)
            state[node] = _VERIFIED
        elif mark is None:
            state[node] = _OPEN
            _check_structure(node)
            parents = [v if v.owner is None else v.owner for v in node.inputs]
            if any(state.get(parent) == _OPEN for parent in parents):
                raise refused("the archive has a node that needs its own result", hint="build the graph anew")
            todo += [parent for parent in parents if parent not in state]
        else:
            todo.pop()
            _check_node(reader, node)
            state[node] = _VERIFIED


def _check_structure(node: Any) -> None:
    inputs, outputs = getattr(node, "inputs", None), getattr(node, "outputs", None)
    if type(inputs) is not list or type(outputs) is not list or not isinstance(getattr(node, "op", None), PureOp):
        raise refused("the archive has a node without op, inputs or outputs")
    for variable in (*inputs, *outputs):
        if not isinstance(variable, Variable) or not hasattr(variable, "owner"):
            raise refused("the archive has a node with an input or output that is no complete variable")
    for i, output in enumerate(outputs):
        if output.owner is not node or output.index != i:
            raise refused("the archive has a node whose outputs belong to another one")
    for variable in inputs:
        owner = variable.owner
        if owner is not None:
            node_outputs = getattr(owner, "outputs", None)
            if type(node_outputs) is not list or not any(variable is output for output in node_outputs):
                raise refused("the archive has a variable that is no output of its owner")


def _check_marks(node: Any) -> None:
    if not hasattr(node, "_tag") or not hasattr(node, "origin"):
        raise refused("the archive has a node without tag or origin")
    if not (node._tag is None or type(node._tag) is Tag) or not (node.origin is None or type(node.origin) is Origin):
        raise refused("the archive has a node with a tag or an origin that is none")


def _check_variable(reader: Reader, variable: Any) -> None:
    if not isinstance(variable, Variable) or not isinstance(getattr(variable, "type", None), Type):
        raise refused("the archive has a variable without a type")
    _check_marks(variable)
    reader.complete(variable.type)
    name = getattr(variable, "name", ())
    if not (name is None or isinstance(name, str)) or not hasattr(variable, "owner") or not hasattr(variable, "index"):
        raise refused("the archive has a variable without name, owner or index")
    if isinstance(variable, Constant):
        try:
            variable.type.filter(variable._data, strict=True)
        except (AttributeError, TypeError, ValueError) as error:
            raise refused(f"the archive has a constant that is no value of {variable.type}") from error
    for kind, check in VARIABLE_CHECKS.items():
        if isinstance(variable, kind):
            check(variable)


def _check_node(reader: Reader, node: Any) -> None:
    reader.complete(node.op)
    _check_marks(node)
    for output in node.outputs:
        _check_variable(reader, output)
    types = [output.type for output in node.outputs]
    # The meaning of an expression may depend on the flag: an archive need not have been written under the present one.
    replica = _remade(node)
    for floatx in ("float64", "float32", "float16"):
        if _fit(replica, types) or not hasattr(config, "floatX"):
            break
        with config.change_flags(floatX=floatx):
            replica = _remade(node)
    if not _fit(replica, types):
        raise UnsafeArchiveError(
            format_error(
                f"the archive has a node of {node.op} whose results are of types that it does not give",
                context=[f"it says {types}", f"the op gives {replica}"],
                hint="build the graph anew",
            )
        )
    for output, kind in zip(node.outputs, replica, strict=True):
        if output.type.exact != kind.exact:
            output.type = kind


def _remade(node: Any) -> Any:
    try:
        return [output.type for output in node.op.make_node(*node.inputs).outputs]
    except Exception as error:  # noqa: BLE001  # any answer of an op to inputs that it cannot have
        return f"{type(error).__name__}: {error}"


def _fit(results: Any, types: list[Any]) -> bool:
    return results == types if isinstance(results, list) else False


# ---- Ops, types and records: made anew by their constructors, from those attributes that constructors ask for


class ObjectForm(Form):
    """Ops and types, which have to equal the objects that their constructors make of their attributes.

    Parameters
    ----------
    arguments : callable, optional
        Gives the arguments of the constructor for the attributes: a sequence and a mapping. By default, those
        attributes that have the names of parameters.
    left_out : sequence of str
        Attributes that archives have and that are made anew.
    kept : mapping of str to type
        Attributes that are set when the object has been made, and of which class they are.
    anew : sequence of str
        Attributes that the arguments are made of, and that the constructor makes in its own way.
    """

    def __init__(
        self,
        arguments: Callable[[dict[str, Any]], tuple[Sequence[Any], Mapping[str, Any]]] | None = None,
        left_out: Sequence[str] = (),
        kept: Mapping[str, type] | None = None,
        anew: Sequence[str] = (),
    ) -> None:
        self._anew = frozenset(anew)
        self._arguments = arguments
        self._left_out = frozenset(left_out)
        self._kept = dict(kept or {})

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> None:
        """Give an object the attributes of one that the constructor makes."""
        if type(state) is tuple and len(state) == 2 and state[0] is None:
            state = state[1]
        contents = Contents(str(word))
        values = contents.attributes({k: v for k, v in state.items() if k not in self._left_out} if state else {})
        verify_graphs(reader, contents.variables)
        for thing in contents.things:
            reader.complete(thing)
        extra = {name: values.pop(name) for name in self._kept if name in values}
        fresh = self._made(word, values)
        attributes = _attributes(fresh)
        for name, value in values.items():
            if name not in self._anew and (name not in attributes or not is_same(value, attributes[name])):
                raise refused(f"{word} cannot have {value!r:.60} as `{name}` with its other attributes")
        for name, value in extra.items():
            if type(value) is not self._kept[name]:
                raise refused(f"{word} has a {type(value).__name__} as `{name}`")
            attributes[name] = value
            setattr(fresh, name, value)
        _move(fresh, instance)

    def _made(self, word: ClassWord, attributes: dict[str, Any]) -> Any:
        positional: Sequence[Any] = ()
        if self._arguments is not None:
            positional, named = self._arguments(attributes)
        else:
            named = {name: attributes[name] for name in _parameters(word) if name in attributes}
        return word.target(*positional, **named)


def _parameters(word: ClassWord) -> list[str]:
    return _parameters_of(word.target)


@cache
def _parameters_of(kind: type) -> list[str]:
    constructor: Any = kind.__init__  # type: ignore[misc]  # of a class
    if constructor is object.__init__:
        return []
    parameters = list(inspect.signature(constructor).parameters.values())[1:]
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _attributes(thing: Any) -> dict[str, Any]:
    state = thing.__getstate__()
    if isinstance(state, tuple):
        state = state[1]
    return dict(state or {})


def _move(fresh: Any, instance: Any) -> None:
    """Let an empty object have all that another one has."""
    if hasattr(fresh, "__dict__"):
        instance.__dict__.update(fresh.__dict__)
    for base in type(fresh).__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(fresh, name):
                object.__setattr__(instance, name, getattr(fresh, name))


class RecordForm(Form):
    """Dataclasses, whose fields are checked one by one.

    Parameters
    ----------
    **checks : callable
        For each field, whether a value can be its own.
    """

    def __init__(self, **checks: Callable[[Any], bool]) -> None:
        self._checks = checks

    def new(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return a record without contents."""
        if not is_dataclass(word.target):
            raise refused(f"the archive takes {word} for a record")
        if word.target not in LEAVES:
            LEAVES.append(word.target)
        return super().new(reader, word, arguments)

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> None:
        """Fill the fields."""
        names = [f.name for f in fields(word.target)]
        if type(state) is tuple and len(state) == 2 and state[0] is None:
            state = state[1]
        values = dict(zip(names, state, strict=True)) if type(state) is list else state
        contents = Contents(str(word))
        attributes = contents.attributes(values)
        for thing in contents.things:
            reader.complete(thing)
        if attributes.keys() != set(names):
            raise refused(f"{word} has other fields than {', '.join(names)}")
        for name, value in attributes.items():
            if name not in self._checks or not self._checks[name](value):
                raise refused(f"{word} has {value!r:.60} as `{name}`")
        for name, value in attributes.items():
            object.__setattr__(instance, name, value)


class EnumForm(Form):
    """Members of an enumeration, called by their values."""

    def call(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return a member."""
        (value,) = arguments
        if type(value) not in (str, int):
            raise refused(f"the archive calls {word} with a {type(value).__name__}")
        return word.target(value)


def is_int(value: Any) -> bool:
    """Tell whether a value is an integer, and no truth value."""
    return type(value) is int


def is_bool(value: Any) -> bool:
    """Tell whether a value is a truth value."""
    return type(value) is bool


def is_text(value: Any) -> bool:
    """Tell whether a value is a text."""
    return type(value) is str


def tuple_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a check of tuples whose items all pass another one.

    Examples
    --------
    >>> tuple_of(is_int)((1, 2)), tuple_of(is_int)([1])
    (True, False)
    """
    return lambda value: type(value) is tuple and all(map(check, value))


FORMS[PureOp] = FORMS[Type] = ObjectForm()
