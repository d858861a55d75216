"""The words of graphs and of Python itself: nodes and their links, with checks of all arguments."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._expression._node_state import new_node as make_node, slot_names
from .._expression._nodes import Apply, Node, Variable
from .._expression._op import PureOp
from .._expression._origin import Origin, UserFrame
from .._expression._type import Tag, Type
from .._function_graph._fgraph import FunctionGraph
from .._pickles import filled as fill, linked as link
from ._objects import ObjectForm, verify_graphs
from ._vocabulary import FORMS, ClassWord, Contents, Form, Function, Value, Word, refused

if TYPE_CHECKING:
    from ._reader import Reader


# ---- Nodes: each step with checks of its arguments

#: Attribute of nodes -> of which classes it is.
_KINDS: dict[str, tuple[type, ...]] = {
    "type": (Type,),
    "name": (str, type(None)),
    "origin": (Origin, type(None)),
    "_tag": (Tag, type(None)),
    "op": (PureOp,),
    "owner": (Apply, type(None)),
    "index": (int, type(None)),
}


class _Links:
    """Nodes and outputs by classes: the results of connecting them, for the calls that fill them."""

    def __init__(self, groups: dict[type, list[Any]]) -> None:
        self.groups = groups


class NodeForm(Form):
    """Variables, constants and apply nodes."""

    def new(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return a node without attributes."""
        if arguments:
            raise refused(f"the archive makes an instance of {word} with arguments")
        return _noted(reader, make_node(word.target))

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> None:
        """Give a node its attributes; attributes that a store has filled have no effect here."""
        if type(state) is tuple and state and type(state[0]) is list:
            return
        if type(state) is not tuple or len(state) < 2 or type(state[1]) is not tuple:
            if state == {}:
                return
            raise refused(f"the contents of a {word} are of a form that is not known")
        attributes, names, *values = state
        if len(names) != len(values):
            raise refused(f"the contents of a {word} are not complete")
        for name, value in zip(names, values, strict=True):
            _set(instance, name, value)
        if attributes is not None:
            _add_attributes(instance, attributes)


def _noted(reader: Reader, node: Any) -> Any:
    reader.notes.setdefault("nodes", []).append(node)
    return node


def _set(node: Any, name: Any, value: Any) -> None:
    kind = type(node)
    if type(name) is not str or name not in slot_names(kind):
        raise refused(f"a {kind.__name__} has an attribute {name!r:.60}")
    if hasattr(node, name):
        raise refused(f"the archive sets `{name}` of a {kind.__name__} twice")
    setattr(node, name, _checked(kind, name, value))


def _checked(kind: type, name: str, value: Any) -> Any:
    if name in ("inputs", "outputs"):
        if type(value) is not list or not all(isinstance(item, Variable) for item in value):
            raise refused(f"a {kind.__name__} has {name} that are no variables")
        return list(value)
    target = _KINDS.get(name)
    if target is None:
        # A value of a constant, a container: its variable's own check decides about it.
        return Contents(kind.__name__).copy(value, "name") if isinstance(value, (list, dict, tuple, Word)) else value
    if not isinstance(value, target) or isinstance(value, bool):
        raise refused(f"a {kind.__name__} has a {type(value).__name__} as `{name}`")
    return value


def _add_attributes(node: Any, attributes: Any) -> None:
    if not hasattr(node, "__dict__"):
        raise refused(f"a {type(node).__name__} has attributes of its own")
    for name, value in _scratch(type(node).__name__, attributes).items():
        if hasattr(node, name):
            raise refused(f"a {type(node).__name__} has an attribute of its own with the name `{name}`")
        vars(node)[name] = value


def _scratch(whose: str, attributes: Any) -> dict[str, Any]:
    """Return attributes that programs have added: they may be anything that archives hold."""
    if type(attributes) is not dict or not all(type(k) is str and k.isidentifier() for k in attributes):
        raise refused(f"a {whose} has attributes that are none")
    if any(name.startswith("__") for name in attributes):
        raise refused(f"a {whose} has attributes with underscores")
    return {
        name: Contents(whose).copy(value, "name") if isinstance(value, (list, dict, tuple, Word)) else value
        for name, value in attributes.items()
    }


class TagForm(Form):
    """Scratchpads."""

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> None:
        """Give a scratchpad its attributes."""
        if type(state) is tuple and len(state) == 2:
            state = state[0] or {}
        vars(instance).update(_scratch("tag", state))


class GraphForm(Form):
    """Function graphs: made anew of their inputs and outputs."""

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> None:
        """Make a graph of the nodes that the archive describes."""
        inputs, outputs = (state.get(name) if type(state) is dict else None for name in ("inputs", "outputs"))
        if type(inputs) is not list or type(outputs) is not list:
            raise refused("the archive has a graph without inputs or outputs")
        verify_graphs(reader, [*inputs, *outputs])
        updates = Contents("a graph").copy(state.get("update_mapping"))
        FunctionGraph.__init__(instance, inputs, outputs, clone=False, update_mapping=updates)


# ---- functions


def _class_of(word: Any, base: type) -> Any:
    if not isinstance(word, ClassWord) or not issubclass(word.target, base):
        raise refused(
            f"the archive takes {word if isinstance(word, Word) else type(word).__name__} for a class of nodes"
        )
    return word.target


def _new_node(reader: Reader, word: Any, ancestors: Any = None) -> Any:
    """Return a node without attributes."""
    result = _noted(reader, make_node(_class_of(word, Node)))
    reader.await_contents(result, word)
    return result


def _new_apply(reader: Reader, word: Any, *words: Any) -> Any:
    """Return a node with outputs of some classes; None leaves one open."""
    node = _noted(reader, make_node(_class_of(word, Apply)))
    reader.await_contents(node, word)
    outputs: list[Any] = []
    node.outputs = outputs
    for index, each in enumerate(words):
        if each is None:
            outputs.append(None)
            continue
        output = _noted(reader, make_node(_class_of(each, Variable)))
        output.owner = node
        output.index = index
        outputs.append(output)
    return node


def _is_index(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value < high


def _output_of(reader: Reader, node: Any, index: Any) -> Any:
    """Return an output of a node."""
    outputs = getattr(node, "outputs", None) if isinstance(node, Apply) else None
    if outputs is None or not _is_index(index, 0, len(outputs)) or outputs[index] is None:
        raise refused("the archive asks for an output that does not exist")
    return outputs[index]


def _numbers(values: Any, low: int, high: int, count: int | None) -> bool:
    """Tell whether something is one number, or a list of them, within bounds."""
    if type(values) is int:
        return low <= values < high
    return (
        type(values) is list
        and (count is None or len(values) == count)
        and all(_is_index(value, low, high) for value in values)
    )


def _linked(
    reader: Reader,
    nodes: Any,
    asked: Any,
    counts: Any,
    places: Any,
    indices: Any,
    others: Any,
    strange: Any = (),
) -> _Links:
    """Give nodes their inputs, as a function of the library does once all has been checked here."""
    if not _are_nodes(nodes) or not _are_nodes(others) or type(places) is not list:
        raise _wrong_links()
    if asked is not None and (type(asked) is int or not _numbers(asked, 0, len(nodes), None)):
        raise _wrong_links()
    applied = [n for n in nodes if isinstance(n, Apply)] if asked is None else [nodes[position] for position in asked]
    if not all(isinstance(n, Apply) and not hasattr(n, "inputs") for n in applied) or len(set(applied)) != len(applied):
        raise _wrong_links()
    if not _numbers(counts, 0, len(places) + 1, len(applied)) or not _numbers(indices, 0, 1 << 31, len(places)):
        raise _wrong_links()
    total = counts * len(applied) if type(counts) is int else sum(counts)
    if total != len(places) or not all(_is_index(index, -len(others), len(nodes)) for index in places):
        raise _wrong_links()
    _check_strangers(applied, strange)
    return _Links(link(nodes, asked, counts, places, indices, others, strange))


def _wrong_links() -> Exception:
    return refused("the archive connects nodes that do not exist", hint="use an undamaged copy")


def _are_nodes(values: Any) -> bool:
    return type(values) is list and all(isinstance(value, (Apply, Variable)) for value in values)


def _check_strangers(applied: Sequence[Any], strange: Any) -> None:
    """Check outputs that are not made with their nodes: each has its place, and no place stays empty."""
    if type(strange) not in (list, tuple):
        raise _wrong_links()
    slots = set()
    for item in strange:
        if type(item) is not tuple or len(item) != 3 or not _is_index(item[0], 0, len(applied)):
            raise _wrong_links()
        i, index, output = item
        outputs = applied[i].outputs
        if not _is_index(index, 0, len(outputs)) or outputs[index] is not None or not isinstance(output, Variable):
            raise _wrong_links()
        slots.add((i, index))
    empty = {(i, k) for i, node in enumerate(applied) for k, output in enumerate(node.outputs) if output is None}
    if slots != empty:
        raise _wrong_links()


def _filled(reader: Reader, links: Any, columns: Any) -> None:
    """Give nodes the values of some attributes, all of them checked."""
    if type(links) is not _Links or type(columns) is not list:
        raise refused("the archive fills something that is no table of nodes")
    for column in columns:
        if type(column) is not tuple or len(column) != 4:
            raise refused("the archive has a column of a form that is not known")
        word, name, different, numbers = column
        kind = _class_of(word, Node)
        members = links.groups.get(kind)
        if members is None or type(name) is not str or type(different) is not list or not members:
            raise refused("the archive fills nodes that do not exist")
        if name == "__dict__":
            _fill_dictionaries(members, different, numbers)
            continue
        if name not in slot_names(kind) or name in ("inputs", "outputs"):
            raise refused(f"a {kind.__name__} has an attribute {name!r:.60}")
        if numbers is None and len(different) != 1:
            raise refused("the archive has a column without numbers")
        if numbers is not None and (type(numbers) is int or not _numbers(numbers, -1, len(different), len(members))):
            raise refused("the archive has a column with numbers that mean nothing")
        if any(hasattr(member, name) for member in members):
            raise refused(f"the archive sets `{name}` of a {kind.__name__} twice")
        checked = [_checked(kind, name, value) for value in different]
        fill({kind: members}, [(kind, name, checked, numbers)])


def _fill_dictionaries(members: Sequence[Any], different: list[Any], numbers: Any) -> None:
    if numbers is not None and not _numbers(numbers, 0, len(different), len(members)):
        raise refused("the archive has a column with numbers that mean nothing")
    if numbers is None and len(different) != 1:
        raise refused("the archive has a column without numbers")
    for i, member in enumerate(members):
        value = different[0 if numbers is None else numbers[i]]
        if value is not None:
            _add_attributes(member, value)


def _restore(reader: Reader, frames: Any) -> Origin:
    """Return an origin."""
    if type(frames) is not tuple or not frames or not all(type(frame) is UserFrame for frame in frames):
        raise refused("the archive has an origin that is none")
    return Origin((), frames)


class FrameForm(Form):
    """Frames of the user's program."""

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> None:
        """Give a frame file, line and function."""
        if type(state) is not list or list(map(type, state)) != [str, int, str]:
            raise refused("the archive has an origin that is none")
        for name, value in zip(("filename", "lineno", "function"), state, strict=True):
            object.__setattr__(instance, name, value)


FORMS[Node] = NodeForm()
FORMS[Tag] = TagForm()
FORMS[FunctionGraph] = GraphForm()


def verify_all(reader: Reader) -> None:
    """Check every node that an archive has described."""
    verify_graphs(reader, reader.notes.get("nodes", ()))


def node_words() -> Iterator[Word]:
    """Yield the words for nodes, tags, origins and graphs."""
    yield Function("theano_graph._expression._node_state", "new_node", _new_node)
    yield Function("theano_graph._pickles", "new_apply", _new_apply)
    yield Function("theano_graph._pickles", "output_of", _output_of)
    yield Function("theano_graph._pickles", "linked", _linked)
    yield Function("theano_graph._pickles", "filled", _filled)
    yield Function("theano_graph._expression._origin", "_restore", _restore)
    yield ClassWord("theano_graph._expression._origin", "UserFrame", FrameForm())
    yield Value("theano_graph._expression._type", "NoParams")
    for module, names in (
        ("theano_graph._expression._nodes", "Apply Variable AtomicVariable Constant"),
        ("theano_graph._expression._type", "Tag"),
        ("theano_graph._function_graph._fgraph", "FunctionGraph"),
    ):
        for name in names.split():
            yield ClassWord(module, name)
    for name in ("Generic", "SingletonType", "Type"):
        yield ClassWord("theano_graph._expression._type", name, ObjectForm())


# ---- Values and classes of Python

#: Errors that ops may raise when they run.
_ERRORS = (
    "ArithmeticError AssertionError Exception FloatingPointError IndexError KeyError LookupError NotImplementedError "
    "OverflowError RuntimeError TypeError ValueError ZeroDivisionError"
)
_CLASSES = "bool bytearray bytes complex dict float frozenset int list object set str tuple"


class _Plain(Value):
    """A class of Python's: it may stand in results; its instances are made here."""

    def call(self, reader: Reader, arguments: tuple[Any, ...]) -> Any:
        """Return an instance."""
        return _BUILT[self.name](*arguments) if self.name in _BUILT else super().call(reader, arguments)


def _collection(make: Any) -> Any:
    def collect(*arguments: Any) -> Any:
        if len(arguments) > 1 or (arguments and type(arguments[0]) not in (list, tuple, set, frozenset, dict)):
            raise refused(f"the archive makes a {make.__name__} of something that is none")
        return make(*arguments)

    return collect


def _complex(real: Any, imaginary: Any) -> complex:
    if type(real) not in (int, float) or type(imaginary) not in (int, float):
        raise refused("the archive makes a complex number of something else")
    return complex(real, imaginary)


def _bytearray(*arguments: Any) -> bytearray:
    if arguments and (type(arguments[0]) is not bytes or len(arguments) > 1):
        raise refused("the archive makes a bytearray of something else")
    return bytearray(*arguments)


def _bytes(*arguments: Any) -> bytes:
    if arguments:
        raise refused("the archive makes bytes of something else")
    return b""


_BUILT = {
    "bytearray": _bytearray,
    "bytes": _bytes,
    "complex": _complex,
    "dict": _collection(dict),
    "frozenset": _collection(frozenset),
    "list": _collection(list),
    "set": _collection(set),
    "tuple": _collection(tuple),
}


def _three_integers(what: Any) -> Any:
    def integers(reader: Reader, *arguments: Any) -> Any:
        if len(arguments) not in (1, 2, 3) or not all(item is None or type(item) is int for item in arguments):
            raise refused(f"the archive makes a {what.__name__} of something else than numbers")
        return what(*arguments)

    return integers


def _encode(reader: Reader, text: Any, encoding: Any) -> bytes:
    """Return bytes that protocols without a code for them wrote as a text."""
    if type(text) is not str or encoding != "latin1":
        raise refused("the archive encodes something that is no text of latin1")
    return text.encode("latin1")


def _ordered(reader: Reader, *arguments: Any) -> Any:
    result: OrderedDict[Any, Any] = OrderedDict()
    for pair in arguments[0] if arguments and type(arguments[0]) in (list, tuple) else ():
        if type(pair) not in (list, tuple) or len(pair) != 2:
            raise refused("the archive makes a dictionary of something that is no pairs")
        result[pair[0]] = pair[1]
    return result


def _default(reader: Reader, *arguments: Any) -> Any:
    factory = arguments[0] if arguments else None
    if isinstance(factory, _Plain):
        factory = factory.resolve()
    if len(arguments) > 1 or factory not in (None, bool, complex, dict, float, int, list, set, str, tuple):
        raise refused("the archive has a dictionary that makes its values with something unknown")
    return defaultdict(factory)


def _deque(reader: Reader, *arguments: Any) -> Any:
    items = arguments[0] if arguments else ()
    most = arguments[1] if len(arguments) > 1 else None
    if (
        type(items) not in (list, tuple)
        or not (most is None or (type(most) is int and most >= 0))
        or len(arguments) > 2
    ):
        raise refused("the archive makes a queue of something else")
    return deque(items, most)


def _reconstructor(reader: Reader, word: Any, base: Any, state: Any) -> Any:
    """Return an instance in the way of the first two protocols."""
    if not isinstance(word, ClassWord) or state is not None:
        raise refused(f"the archive makes an instance of {word if isinstance(word, Word) else type(word).__name__}")
    return word.new(reader, ())


def words() -> Iterator[Word]:
    """Yield the words of Python itself and of graphs."""
    for name in f"{_CLASSES} {_ERRORS}".split():
        yield _Plain("builtins", name)
    for what in (slice, range):
        yield Function("builtins", what.__name__, _three_integers(what))
    yield Function("_codecs", "encode", _encode)
    yield Function("collections", "OrderedDict", _ordered)
    yield Function("collections", "defaultdict", _default)
    yield Function("collections", "deque", _deque)
    yield Function("copyreg", "_reconstructor", _reconstructor)
    yield from node_words()
