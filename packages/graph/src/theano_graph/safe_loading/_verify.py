"""Graphs that an archive describes: each node has to be what its op makes of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .._configuration._config import config
from .._errors import format_error
from .._expression._nodes import Apply, Constant, Variable
from .._expression._op import PureOp
from .._expression._origin import Origin
from .._expression._tags import Tag
from .._expression._type import Type
from .._word_modules import UnsafeArchiveError
from ._words import refused

if TYPE_CHECKING:
    from ._reader import Reader

#: Class -> what is asked of variables of this class and its subclasses; layers add theirs.
VARIABLE_CHECKS: dict[type, Callable[[Any], None]] = {}
_VERIFIED, _OPEN = "verified", "open"


def verify_graphs(reader: Reader, variables: Iterable[Any]) -> None:
    """Check variables and all that they depend on; what was checked before is not checked again.

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
            given = getattr(owner, "outputs", None)
            if type(given) is not list or not any(variable is output for output in given):
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
    wanted = [output.type for output in node.outputs]
    # What an expression is may depend on the flag: an archive need not have been written under the present one.
    found = _remade(node)
    for floatx in ("float64", "float32", "float16"):
        if _fit(found, wanted) or not hasattr(config, "floatX"):
            break
        with config.change_flags(floatX=floatx):
            found = _remade(node)
    if not _fit(found, wanted):
        raise UnsafeArchiveError(
            format_error(
                f"the archive has a node of {node.op} whose results are of types that it does not give",
                context=[f"it says {wanted}", f"the op gives {found}"],
                hint="build the graph anew",
            )
        )
    for output, kind in zip(node.outputs, found, strict=True):
        if output.type.exact != kind.exact:
            output.type = kind


def _remade(node: Any) -> Any:
    try:
        return [output.type for output in node.op.make_node(*node.inputs).outputs]
    except Exception as error:  # noqa: BLE001  # whatever an op says to inputs that it cannot have
        return f"{type(error).__name__}: {error}"


def _fit(found: Any, wanted: list[Any]) -> bool:
    return found == wanted if isinstance(found, list) else False
