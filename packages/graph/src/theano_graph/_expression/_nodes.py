"""The nodes of a graph: variables, constants and the applications of ops that connect them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from .._config import config
from .._errors import GraphError, format_error, no_op_error
from ._comparisons import ComparedByIdentity
from ._node_state import (
    ShownAsHtml,
    copy_of_apply,
    eval_hook,
    new_arguments,
    new_node,
    pickling_hook,
    slot_state,
    with_same_slots,
)
from ._origin import Origin, current_origin, with_origin
from ._type import AutoName, NoParams, OpT, Tag, TagOfNode, Type, VariableT


class Node(ShownAsHtml):
    """Common base of variables and apply nodes: an identity, a scratchpad and an origin."""

    __slots__ = ("__weakref__", "_membership", "_tag", "origin")
    #: The function graph that the node belongs to, in that graph's own terms; None, or unset, for free ones.
    _membership: Any
    _tag: Tag | None
    origin: Origin | None

    tag = TagOfNode()

    def has_tag(self) -> bool:
        """Tell whether the scratchpad has been used; does not create it."""
        return self._tag is not None

    def get_parents(self) -> list[Any]:
        """Return the nodes that this one depends on directly."""
        return []

    def __reduce_ex__(self, protocol: Any) -> Any:
        if type(self).__reduce__ is not object.__reduce__:
            return self.__reduce__()
        return (new_node, new_arguments(self), self.__getstate__())

    def __getstate__(self) -> Any:
        slots, values = slot_state(self)
        return (getattr(self, "__dict__", None) or None, slots, *values)

    def __copy__(self) -> Any:
        new = new_node(type(self))
        new.__setstate__(self.__getstate__())
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return pickling_hook.deep_copy(self, memo)

    def __setstate__(self, saved: Any) -> None:
        attributes, slots, *values = saved
        for slot, value in zip(slots, values, strict=True):
            setattr(self, slot, value)
        if attributes:
            self.__dict__.update(attributes)


#: The class of classes, which is no name where variables have a `type`.
_CLASS = type
_construction_observers: list[Callable[[Variable], None]] = []


class Variable(ComparedByIdentity, Node):
    """A value in an expression: an input, or an output of an :class:`Apply`.

    Parameters
    ----------
    type : Type
        The set of its values.
    owner : Apply, optional
        The node that computes it; None for inputs.
    index : int, optional
        Its position among ``owner.outputs``.
    name : str, optional
        For printing and errors.

    Invariants
    ----------
    Compared by identity. ``owner.outputs[index] is self`` when there is an owner. Only `name` and `tag` may change.
    Programs may add attributes of their own; pickles keep them, `clone` does not.
    """

    # The dictionary costs its place; it is made for those variables only that a program gives attributes.
    __slots__ = ("__dict__", "index", "name", "owner", "type")
    type: Type
    owner: Apply | None
    index: int | None
    name: str | None
    __count__: ClassVar[Iterator[int]] = count()
    auto_name = AutoName()

    def __init__(
        self, type: Type, owner: Apply | None = None, index: int | None = None, name: str | None = None
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(
                format_error(f"the name of a variable is a string, not {name!r}", hint="pass a str or None")
            )
        if (owner is None) != (index is None):
            raise GraphError(
                format_error(
                    "a variable has both an owner and an index, or neither",
                    context=[f"name {name!r}, type {type}, index {index}"],
                    hint="leave both to Apply: give it a variable without an owner as an output",
                )
            )
        if owner is not None and not isinstance(owner, Apply):
            raise TypeError(format_error(f"the owner of a variable is a node, not {owner!r}", hint="leave it to Apply"))
        if index is not None and (not isinstance(index, int) or index < 0):
            raise GraphError(
                format_error(f"the index of a variable counts outputs from 0: {index!r}", hint="leave it to Apply")
            )
        # Programs make types of their own without our base class, and take text for one where no type matters.
        if isinstance(type, _CLASS) or (_CLASS(type).__module__ == "builtins" and not isinstance(type, str)):
            raise TypeError(
                format_error(
                    f"the type of a variable is a Type, not {type!r}",
                    hint="pass an instance of a subclass of theano_graph.Type, or make the variable by calling one",
                )
            )
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name
        self._tag = None
        self.origin = current_origin() if owner is None else owner.origin
        if _construction_observers:
            self.notify_construction_observers()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return pickling_hook.reduce_variable(self) or super().__reduce_ex__(protocol)

    #: Functions called with each new variable; see :func:`nodes_constructed`.
    construction_observers: ClassVar[list[Callable[[Variable], None]]] = _construction_observers

    def notify_construction_observers(self) -> None:
        """Tell every construction observer of this variable."""
        for observer in tuple(self.construction_observers):
            observer(self)

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            return f"{self.owner.op}.{self.index}"
        return f"<{self.type}>"

    def __repr__(self) -> str:
        if config.print_test_value and self._tag is not None and hasattr(self._tag, "test_value"):
            return f"{self}\n{self.type.filter(self._tag.test_value)!r}"
        return str(self)

    def clone(self) -> Any:
        """Return a variable like this one, without an owner; name and tag are copied."""
        kind = self.type.variable_class
        if _construction_observers or not _is_made_plainly(kind):
            new = with_origin(lambda: kind(self.type, name=self.name), self.origin)
        else:  # as the constructor, without its checks: graphs are copied for each function
            new = kind.__new__(kind)
            new.type = self.type
            new.owner = new.index = None
            new.name = self.name
            new._tag = None
        if self._tag is not None:
            new._tag = self._tag.copy()
        new.origin = self.origin
        return new

    @property
    def clients(self) -> list[Any]:
        """Uses of the variable in its function graph, :attr:`fgraph`: pairs of a node (or "output") and an index."""
        return [] if self.fgraph is None else self.fgraph.clients(self)

    @property
    def fgraph(self) -> Any:
        """The function graph that the variable is in, or None; of a constant of several, the last that took it in."""
        membership = getattr(self if self.owner is None else self.owner, "_membership", None)
        graph = None if membership is None else membership.graph()
        return graph if graph is not None and self in graph.variables else None

    def get_parents(self) -> list[Any]:
        """Return the owner in a list, or an empty list."""
        return [] if self.owner is None else [self.owner]

    def eval(self, inputs_to_values: Mapping[Any, Any] | None = None) -> Any:
        """Compute the value of this variable.

        Parameters
        ----------
        inputs_to_values : mapping, optional
            A value for each input variable that is needed.

        Raises
        ------
        GraphError
            If no layer that can run graphs has been imported.
        """
        if eval_hook.function is None:
            raise GraphError(
                format_error(
                    "`eval` needs a layer that runs graphs",
                    hint="import theano_linker_c (or theano), or walk the graph yourself",
                )
            )
        return eval_hook.function(self, {} if inputs_to_values is None else inputs_to_values)

    @property
    def _fn_cache(self) -> Any:
        """The functions that `eval` has compiled for the variable; there is no such attribute before."""
        functions = None if eval_hook.functions is None else eval_hook.functions(self)
        if functions is None:
            raise AttributeError("_fn_cache")
        return functions


class AtomicVariable(Variable):
    """A variable that never has an owner."""

    __slots__ = ()


class Constant(AtomicVariable):
    """A variable with a value that never changes.

    Parameters
    ----------
    type : Type
    data : object
        Filtered by `type`.
    name : str, optional

    Raises
    ------
    TypeError, ValueError
        If the type refuses `data`.
    """

    __slots__ = ("_data",)
    _data: Any

    def __init__(self, type: Type, data: Any, name: str | None = None) -> None:
        super().__init__(type, None, None, name)
        self.data = type.filter(data)

    def _set_data(self, data: Any) -> None:
        if hasattr(self, "_data"):
            raise AttributeError(
                format_error(
                    "the value of a constant is set once",
                    context=[describe(self)],
                    hint="make another constant: `constant.type.make_constant(value)`",
                )
            )
        self._data = data

    #: The value; settable once.
    data = property(attrgetter("_data"), _set_data)

    @property
    def value(self) -> Any:
        """The value; read only."""
        return self._data

    def signature(self) -> Hashable:
        """Return a key that is equal for constants that may be merged into one."""
        if isinstance(self.data, (float, complex)):
            # Equal numbers may differ in sign: -0.0 == 0.0, but their reciprocals are opposite infinities.
            return (self.type, type(self.data), repr(self.data))
        try:
            hash(self.data)
        except TypeError:
            return (self.type, id(self.data))
        return (self.type, type(self.data), self.data)

    def equals(self, other: object) -> bool:
        """Tell whether `other` is a constant with an equal signature."""
        return isinstance(other, Constant) and self.signature() == other.signature()

    def clone(self) -> Any:
        """Return a constant that shares the data of this one."""
        new = with_same_slots(self)
        if _construction_observers:
            new.notify_construction_observers()
        return new

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        text = str(self.data)
        if len(text) > 24:
            text = f"{text[:12]}...{text[-8:]}"
        return f"{type(self).__name__}{{{text}}}"


class Apply(Node, Generic[OpT, VariableT]):
    """The application of an op to variables; ``Apply[Dot, Tensor]`` tells type checkers the classes of both.

    Parameters
    ----------
    op : Op
    inputs : sequence of Variable
    outputs : sequence of Variable
        Fresh variables; their `owner` and `index` are set here.

    Raises
    ------
    TypeError
        If an input or output is no variable.
    GraphError
        If an output belongs to another node already.

    Invariants
    ----------
    Compared by identity. `inputs` changes through a :class:`FunctionGraph` only.
    """

    __slots__ = ("_mark", "_place", "_position", "inputs", "op", "outputs")
    #: The mark of the last walk that left marks.
    _mark: Any
    #: Greater than those of the nodes that this one depends on; says something inside of a function graph only.
    _position: int
    #: The record of the function graph that it is in.
    _place: int
    op: OpT
    inputs: list[VariableT]
    outputs: list[VariableT]

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: Any) -> Any:
            # Type checkers know the default of the second parameter; Python does from 3.13 on.
            return super().__class_getitem__(parameters if isinstance(parameters, tuple) else (parameters, Any))

    def __init__(self, op: OpT, inputs: Sequence[VariableT], outputs: Sequence[VariableT]) -> None:
        if not isinstance(inputs, (list, tuple)) or not isinstance(outputs, (list, tuple)):
            raise TypeError(
                format_error(
                    "the inputs and outputs of an Apply are lists or tuples of variables",
                    context=[f"{op} was given {inputs!r} and {outputs!r}"],
                    hint="pass Apply(op, [inputs], [outputs])",
                )
            )
        if isinstance(op, type) or not hasattr(op, "make_node"):
            raise no_op_error(op)
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self._tag = self._mark = self._membership = None
        self.origin = current_origin()
        for i, variable in enumerate(self.inputs):
            if not isinstance(variable, Variable):
                raise TypeError(
                    format_error(
                        f"input {i} of {op} is no variable: {variable!r}",
                        context=[] if self.origin is None else [f"{op} applied at {self.origin}"],
                        hint="let the op's make_node turn values into variables, for instance with Type.make_constant",
                    )
                )
        for i, output in enumerate(self.outputs):
            if not isinstance(output, Variable):
                raise TypeError(
                    format_error(
                        f"output {i} of {op} is no variable: {output!r}", hint="make it with Type.make_variable()"
                    )
                )
            if output.owner is None:
                if isinstance(output, AtomicVariable) or output in self.inputs:
                    raise _no_output(op, i, output)
                output.owner = self
                output.index = i
                output.origin = self.origin
            elif output.owner is not self or output.index != i:
                raise GraphError(
                    format_error(
                        f"output {i} of {op} already belongs to another node",
                        context=[f"`{output}` is output {output.index} of {output.owner.op}"],
                        hint="make a fresh variable for each output: `output.type()`",
                    )
                )

    def __reduce_ex__(self, protocol: Any) -> Any:
        return pickling_hook.reduce_apply(self, partial(super().__reduce_ex__, protocol))

    def __setstate__(self, saved: Any) -> None:
        if not isinstance(saved[0], list):  # otherwise it has come with a store, which has filled the node
            super().__setstate__(saved)

    @property
    def fgraph(self) -> Any:
        """The function graph that the node is in, or None."""
        membership = self._membership
        return membership.graph() if membership is not None and membership.is_current() else None

    @property
    def nin(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    @property
    def nout(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def default_output(self) -> Any:
        """Return the output that stands for the node.

        Raises
        ------
        AttributeError
            If there are several outputs and the op names none of them, or one that does not exist.
        """
        which = getattr(self.op, "default_output", None)
        if which is None:
            if len(self.outputs) == 1:
                return self.outputs[0]
            raise AttributeError(
                format_error(
                    f"{self.op} has {len(self.outputs)} outputs and no default_output",
                    hint="pick one of `node.outputs`",
                )
            )
        if not isinstance(which, int) or not 0 <= which < len(self.outputs):
            raise AttributeError(
                format_error(f"default_output {which} of {self.op} names none of its {len(self.outputs)} outputs")
            )
        return self.outputs[which]

    @property
    def params_type(self) -> Type | None:
        """The type of the op's parameters, or None."""
        result: Type | None = getattr(self.op, "params_type", None)
        return result

    def run_params(self) -> Any:
        """Return the parameters that ``op.perform`` gets for this node, or :data:`NoParams` where it has none.

        An op whose `get_params` returns None has no parameters; others are filtered by their type.
        """
        params_type = self.params_type
        result = None if params_type is None else self.op.get_params(self)
        return NoParams if result is None or params_type is None else params_type.filter(result)

    @property
    def out(self) -> Any:
        """The default output."""
        return self.default_output()

    def get_parents(self) -> list[Any]:
        """Return a copy of the list of inputs."""
        return list(self.inputs)

    def clone(self) -> Apply[OpT, VariableT]:
        """Return a node with the same op and inputs, and new outputs; tags and names are copied."""
        return self._copy_on(list(self.inputs))

    def _copy_on(self, inputs: list[Any]) -> Apply[OpT, VariableT]:
        """Return a copy with new outputs that has `inputs`, of the same types, in the place of its own."""
        new: Apply[OpT, VariableT] = copy_of_apply(self) if self.__class__ is Apply else with_same_slots(self)
        new.inputs, new.outputs = inputs, []
        for i, output in enumerate(self.outputs):
            copy = output.clone()
            copy.owner, copy.index = new, i
            new.outputs.append(copy)
        return new

    def clone_with_new_inputs(self, inputs: Sequence[Variable], strict: bool = True) -> Apply[OpT, VariableT]:
        """Return a node with the same op on other inputs.

        Parameters
        ----------
        inputs : sequence of Variable
        strict : bool
            If true, each input is converted to the type of the present one where it differs, and the outputs keep their
            types. If false, the op makes a new node where types differ, and the outputs may have other types.

        Raises
        ------
        TypeError
            If `strict` and an input cannot be converted.
        """
        if len(inputs) != len(self.inputs):
            raise GraphError(
                format_error(
                    f"{self.op} was given {len(inputs)} inputs in place of {len(self.inputs)}",
                    context=[describe(v) for v in inputs if isinstance(v, Variable)],
                    hint="pass one for each input of the node, or apply the op anew",
                )
            )
        new_inputs, remake = self._converted(inputs, strict)
        if remake:
            node: Apply = self.op.make_node(*new_inputs)
            if strict and not all(o.type.is_super(n.type) for o, n in zip(self.outputs, node.outputs, strict=True)):
                raise TypeError(
                    format_error(
                        f"{self.op} on new inputs would change the type of an output", hint="pass strict=False"
                    )
                )
            for old, output in zip(self.outputs, node.outputs, strict=True):
                if output.name is None:
                    output.name = old.name
        else:
            node = self._copy_on(new_inputs)
        origin = node.origin = self.origin
        for output in node.outputs:
            output.origin = origin
        return node

    def _converted(self, inputs: Sequence[Variable], strict: bool) -> tuple[list[Any], bool]:
        """Return `inputs` converted where that is asked for, and whether the op must make a new node of them."""
        new_inputs = list(inputs)
        remake = False
        for i, new in enumerate(inputs):
            if not isinstance(new, Variable):
                raise TypeError(
                    format_error(
                        f"new input {i} of {self.op} is no variable: {new!r}",
                        hint="pass variables; a value becomes one through Type.make_constant",
                    )
                )
        for i, (current, new) in enumerate(zip(self.inputs, inputs)):  # noqa: B905  # their numbers are equal
            if current is new or current.type is new.type or current.type.exact == new.type.exact:
                continue
            if strict and not current.type.is_super(new.type):
                new_inputs[i] = current.type.narrow_variable(new)
            else:
                remake = True
        return new_inputs, remake

    def __str__(self) -> str:
        count = len(self.inputs)
        return f"{self.op}({', '.join(map(str, self.inputs)) if count < 6 else f'{count} inputs'})"

    def __repr__(self) -> str:
        return str(self)


def _no_output(op: object, i: int, output: Variable) -> GraphError:
    what = "never has an owner" if isinstance(output, AtomicVariable) else "is one of the inputs as well"
    text = f"output {i} of {op} {what}"
    return GraphError(
        format_error(text, context=[describe(output)], hint="make a fresh variable for it: `output.type()`")
    )


#: Whether the constructor of a class of variables is that of Variable.
_made_plainly: dict[type[Variable], bool] = {}


def _is_made_plainly(kind: type[Variable]) -> bool:
    cached = _made_plainly.get(kind)
    if cached is None:
        cached = _made_plainly[kind] = kind.__init__ is Variable.__init__ and kind.__new__ is object.__new__
    return cached


def describe(variable: Variable) -> str:
    """Return one line about a variable for an error: its name, type and where it was made.

    Examples
    --------
    >>> describe(Type()("x")).startswith("`x`: Type")
    True
    """
    kind, origin = getattr(variable.type, "describe", variable.type.__str__)(), variable.origin
    return f"`{variable}`: {kind}" if origin is None else f"`{variable}`: {kind} made at {origin}"


Type.variable_class = Variable
Type.constant_class = Constant
