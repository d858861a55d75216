"""Ops: they compute outputs from inputs, and a node records each application."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from .._errors import GraphError, MissingRuleError, format_error
from ._nodes import Apply, Variable, describe
from ._origin import begin_origin, end_origin, inherited_origin, mark_boundary
from ._type import NoParams, Type

# ---- Methods of Theano 1.0 and of 1.1, where the graph comes before the node


def takes_graph(method: Callable[..., Any], count: int) -> bool:
    """Tell whether a function asks for one argument more than `count`: the graph, before the others.

    A function that takes any number of arguments gets those of Theano 1.0.
    """
    function: Any = getattr(method, "__func__", method)
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    bound = function is not method
    required = code.co_argcount - len(function.__defaults__ or ()) - bound
    return bool(required == count + 1)


def call_with_graph(method: Callable[..., Any], fgraph: Any, *arguments: Any) -> Any:
    """Call a method of an op or a rule, with the graph before the other arguments where it asks for one more.

    Examples
    --------
    >>> from theano_graph import call_with_graph
    >>> call_with_graph(lambda node: [node], "graph", "node")
    ['node']
    >>> call_with_graph(lambda fgraph, node: [fgraph, node], "graph", "node")
    ['graph', 'node']
    """
    return method(fgraph, *arguments) if takes_graph(method, len(arguments)) else method(*arguments)


# ---- The contract of ops: the computation of an :class:`Apply`


class PureOp:
    """A computation that can be applied to variables, as far as graphs need to know it: the base of :class:`Op`."""

    #: Names of the attributes that make two ops of one class equal; undefined (None) means identity.
    __props__: ClassVar[tuple[str, ...] | None] = None
    #: Types of inputs and outputs, when they are always the same.
    itypes: Sequence[Type] | None = None
    otypes: Sequence[Type] | None = None
    #: Index of the output that a call returns; None returns all when there are several.
    default_output: int | None = None
    #: Type of the result of :meth:`get_params`; None for an op without parameters.
    params_type: Any = None
    #: Output index -> indices of the inputs that the output may be a view of.
    view_map: Mapping[int, Sequence[int]] = {}
    #: Output index -> indices of the inputs that are overwritten to make the output.
    destroy_map: Mapping[int, Sequence[int]] = {}

    def make_node(self, *inputs: Any, **kwargs: Any) -> Apply[Self]:
        """Check `inputs`, turn them into variables and apply the op to them.

        Classes define it with parameters of their own; this one takes as many inputs as there are `itypes`.

        Raises
        ------
        TypeError
            If the number or a type of the inputs does not fit.
        """
        if self.itypes is None or self.otypes is None:
            raise MissingRuleError(
                format_error(
                    f"{type(self).__qualname__} defines neither make_node nor itypes and otypes",
                    hint="define one of the two",
                )
            )
        if kwargs:
            raise TypeError(
                format_error(
                    f"{self} takes no argument by name, got {', '.join(kwargs)}",
                    hint=f"pass the inputs by position, or define {type(self).__qualname__}.make_node",
                )
            )
        if len(inputs) != len(self.itypes):
            wanted_types = ", ".join(map(str, self.itypes))
            raise TypeError(
                format_error(
                    f"{self} takes {len(self.itypes)} inputs, got {len(inputs)}",
                    context=[describe(v) for v in inputs if isinstance(v, Variable)],
                    hint=f"pass one input for each of the types {wanted_types}",
                )
            )
        variables = [itype.narrow_variable(variable) for itype, variable in zip(self.itypes, inputs, strict=True)]
        return Apply(self, variables, [t.make_variable() for t in self.otypes])

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Apply the op and return its output, or the list of its outputs.

        Parameters
        ----------
        *inputs : Variable or value
        name : str, optional
            Name for the output, when there is one.
        return_list : bool, optional
            Return a list also for one output.
        **kwargs
            Passed on to :meth:`make_node`.
        """
        return_list = kwargs.pop("return_list", False)
        name = kwargs.pop("name", None)
        before = inherited_origin()
        try:
            begin_origin()
            node = self.make_node(*inputs, **kwargs)
        finally:
            end_origin(before)
        if _construction.hook is not None:
            _construction.hook(node)
        outputs = node.outputs
        if name is not None:
            if len(outputs) != 1 and self.default_output is None:
                raise TypeError(
                    format_error(
                        f"{self} has {len(outputs)} outputs: one name cannot serve them", hint="name each output"
                    )
                )
            outputs[self.default_output or 0].name = name
        if self.default_output is not None and not return_list:
            return node.default_output()
        if len(outputs) == 1 and not return_list:
            return outputs[0]
        return list(outputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], *args: Any, **kwargs: Any
    ) -> None:
        """Compute the outputs.

        Parameters
        ----------
        node : Apply
        inputs : sequence
            A value for each input; not to be changed unless `destroy_map` says so.
        output_storage : sequence of one-element lists
            Where the results go: ``output_storage[i][0] = result``. Its earlier content may be None or any value
            of the right type, which may be overwritten and used again.

        Raises
        ------
        MissingRuleError
            If the op does not define it, and no layer that runs ops in another way has been imported.
        """
        if _perform_hook.function is not None and _perform_hook.function(node, inputs, output_storage):
            return
        raise MissingRuleError(
            format_error(
                f"op {self} cannot be run: it has no `perform`", hint=f"define {type(self).__qualname__}.perform"
            )
        )

    def make_thunk(
        self,
        node: Apply[Self],
        storage_map: Mapping[Variable, list[Any]],
        compute_map: Mapping[Variable, list[Any]],
        no_recycling: Sequence[Any],
        impl: str | None = None,
    ) -> Callable[[], Any]:
        """Return a function without arguments that computes the outputs of `node`.

        An op that overrides this is run by the returned function; :meth:`perform` and other forms are then not looked
        at. The function may have ``lazy = True``: it is then called before its inputs have been computed, and returns
        the list of the numbers of the inputs that it wants next, or an empty list when its outputs are there.

        Parameters
        ----------
        node : Apply
        storage_map : mapping of Variable to one-element list
            The values.
        compute_map : mapping of Variable to one-element list
            Whether a value is there; the function sets it for the outputs.
        no_recycling : sequence
            Outputs whose former values must not be overwritten.
        impl : {"py", "c"}, optional
            Which implementation is wanted.
        """
        if _thunk_hook.function is not None:
            return _thunk_hook.function(node, storage_map, compute_map, impl)
        inputs, outputs = ([storage_map[v] for v in side] for side in (node.inputs, node.outputs))

        def thunk() -> None:
            params = node.run_params()
            more = () if params is NoParams else (params,)
            self.perform(node, [cell[0] for cell in inputs], outputs, *more)
            for variable in node.outputs:
                compute_map[variable][0] = True

        return thunk

    def get_params(self, node: Apply[Self]) -> Any:
        """Return the parameters that :meth:`perform` gets for `node`; needed where `params_type` is set.

        A type of parameters that offers ``get_params(op)`` gives the default.

        Raises
        ------
        MissingRuleError
            If the op has none.
        """
        from_type = getattr(self.params_type, "get_params", None)
        if from_type is None:
            raise MissingRuleError(
                format_error(
                    f"op {self} has no `get_params`",
                    hint=f"define {type(self).__qualname__}.get_params, which goes with params_type",
                )
            )
        return from_type(self)

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Tell whether a node of this op on constants may be computed when the graph is compiled."""
        return True

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        props = type(self).__props__
        if props is None or type(self) is not type(other):
            return False
        return all(getattr(self, p) == getattr(other, p) for p in props)

    def __hash__(self) -> int:
        props = type(self).__props__
        if props is None:
            return object.__hash__(self)
        return hash((type(self), *[getattr(self, p) for p in props])) if props else hash(type(self))

    def _props(self) -> tuple[Any, ...]:
        """Return the values of the attributes named in `__props__`."""
        props = type(self).__props__
        if props is None:
            raise GraphError(
                format_error(
                    f"{type(self).__qualname__} has no __props__",
                    hint="name the attributes that matter: __props__ = ()",
                )
            )
        return tuple(getattr(self, p) for p in props)

    def __str__(self) -> str:
        name = getattr(self, "name", None)
        if isinstance(name, str):
            return name
        props = type(self).__props__
        if not props:
            return type(self).__name__ if props is not None else object.__repr__(self)
        return f"{type(self).__name__}{{{', '.join(f'{p}={getattr(self, p)!r}' for p in props)}}}"

    def __repr__(self) -> str:
        return str(self)


class Op(PureOp):
    """A computation that can be applied to variables and run; classes of ops derive from it.

    Subclasses define :meth:`make_node` (or `itypes` and `otypes`) and a way to run: :meth:`perform`, or a form of a
    higher layer offers. An op whose class sets `__props__`, a tuple of attribute names, compares, hashes and prints by
    these.

    Examples
    --------
    >>> from theano_graph import Generic
    >>> class Pair(Op):
    ...     __props__ = ()
    ...     itypes = (Generic(), Generic())
    ...     otypes = (Generic(),)
    ...     def perform(self, node, inputs, output_storage, params=None):
    ...         output_storage[0][0] = tuple(inputs)
    >>> Pair() == Pair()
    True
    """


mark_boundary(Op.__call__.__code__)


class _Construction:
    """Holder of the listener that gets each node made by a call of an op (test values)."""

    hook: Callable[[Apply], None] | None = None


_construction = _Construction()


class _PerformHook:
    """Holder of the function that computes nodes whose op has no `perform`."""

    function: Callable[[Apply, Sequence[Any], Sequence[list[Any]]], bool] | None = None


_perform_hook = _PerformHook()


def set_perform_hook(function: Callable[[Apply, Sequence[Any], Sequence[list[Any]]], bool] | None) -> None:
    """Set the function that computes a node whose op defines no `perform`; a layer with other ways to run ops calls it.

    Parameters
    ----------
    function : callable or None
        ``(node, inputs, output_storage)`` computes the outputs and returns True, or returns False if it cannot.
    """
    _perform_hook.function = function


class _ThunkHook:
    """Holder of the maker of thunks for ops that do not make their own."""

    function: Callable[..., Callable[[], Any]] | None = None


_thunk_hook = _ThunkHook()


def set_thunk_hook(function: Callable[..., Callable[[], Any]] | None) -> None:
    """Set the maker of :meth:`Op.make_thunk`; called once by a layer that runs ops in other ways than by `perform`.

    Parameters
    ----------
    function : callable or None
        ``(node, storage_map, compute_map, impl)`` returns a function without arguments.
    """
    _thunk_hook.function = function


def has_own_thunk(op: Op) -> bool:
    """Tell whether an op says itself, by `make_thunk`, how it is run."""
    method = op.make_thunk
    function = getattr(method, "__func__", method)
    return function is not Op.make_thunk and not hasattr(function, "is_default")


def call_make_thunk(
    node: Apply,
    storage_map: Mapping[Variable, list[Any]],
    compute_map: Mapping[Variable, list[Any]],
    impl: str | None = None,
) -> Callable[[], Any]:
    """Call the `make_thunk` of a node's op, with `impl` where it takes that."""
    make_thunk: Any = node.op.make_thunk
    arguments: tuple[Any, ...] = (node, storage_map, compute_map, [])
    try:
        inspect.signature(make_thunk).bind(*arguments, impl)
    except TypeError:
        thunk: Callable[[], Any] = make_thunk(*arguments)
    else:
        thunk = make_thunk(*arguments, impl)
    return thunk


def construction_hook() -> Callable[[Apply], None] | None:
    """Return the listener that gets each node made by calling an op."""
    return _construction.hook


def set_construction_hook(hook: Callable[[Apply], None] | None) -> None:
    """Set the listener that gets each node made by calling an op; None for nobody.

    Setting the flag ``compute_test_value`` sets this as well: the last one wins. Code that makes graphs to throw them
    away wraps itself in ``config.change_flags(compute_test_value="off")``.
    """
    _construction.hook = hook


def connection_pattern(node: Apply) -> list[list[bool]]:
    """Return, for each input of `node`, which outputs depend on it differentiably.

    An op may define ``connection_pattern(node)``; all outputs depend on all inputs where it does not.
    """
    method = getattr(node.op, "connection_pattern", None)
    if method is None:
        return [[True] * len(node.outputs) for _ in node.inputs]
    pattern: list[list[bool]] = method(node)
    if len(pattern) != len(node.inputs) or any(len(row) != len(node.outputs) for row in pattern):
        raise GraphError(
            format_error(
                f"connection_pattern of {node.op} has the wrong form",
                hint="one row for each input, one bool for each output",
            )
        )
    return pattern


def is_variable(value: object) -> bool:
    """Tell whether `value` is a variable of some graph."""
    return isinstance(value, Variable)
