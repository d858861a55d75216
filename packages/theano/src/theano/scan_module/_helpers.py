"""Helpers of loops: fresh variables, graphs with other variables in them, and copies of graphs."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    MissingTestValueError,
    Variable,
    clone_replace,
    config,
    equal_computations as _equal_computations,
    get_test_value,
    graph_inputs,
    toposort,
)
from theano_scan import Loop, Scan, until
from theano_tensor import AllocEmpty, as_tensor_variable, get_scalar_constant_value, set_subtensor
from theano_tensor.builders import OpFromGraph

# ---- Helpers of loops that programs for Theano 1.0 import: copies, parts of a step's result, room for results


def safe_new(x: Any, tag: str = "", dtype: str | None = None) -> Any:
    """Return a new variable of the type of another one, with its name and `tag`, and its test value.

    Parameters
    ----------
    x : Variable or array_like
    tag : str
        Put behind the name, where there is one.
    dtype : str, optional
        That of the new variable, if not the same. A constant is copied with its value.
    """
    if isinstance(x, Constant):
        source: Any = x
        plain: Any = x if dtype is None or source.type.dtype == dtype else as_tensor_variable(np.asarray(x.data, dtype))
        return plain.clone()
    label = getattr(x, "name", None)
    value: Any = x
    if not isinstance(value, Variable):
        with contextlib.suppress(TypeError):
            value = as_tensor_variable(value)
    if dtype is not None and value.type.dtype != dtype:
        value = value.astype(dtype)
    copy_of_value = value.type.make_variable(None if label is None else label + tag)
    if config.compute_test_value != "off":
        with contextlib.suppress(MissingTestValueError):
            copy_of_value.tag.test_value = copy.deepcopy(get_test_value(value))
    return copy_of_value


def traverse(out: Any, x: Any, x_copy: Any, d: dict[Any, Any], visited: set[Any] | None = None) -> dict[Any, Any]:
    """Add to `d`, for `out` and its ancestors, that `x` becomes `x_copy`; return `d`."""
    seen = set() if visited is None else visited
    pending = [out]
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        if v is x:
            d[v] = x_copy
        elif v.owner is not None:
            pending += v.owner.inputs
    return d


def hash_listsDictsTuples(x: Any) -> int:
    """Return a hash of nested lists, tuples and dictionaries."""
    if isinstance(x, Mapping):
        return hash(tuple((hash_listsDictsTuples(k), hash_listsDictsTuples(v)) for k, v in x.items()))
    if isinstance(x, (list, tuple)):
        return hash(tuple(hash_listsDictsTuples(v) for v in x))
    return hash(x) if isinstance(x, Hashable) else 0


def isNaN_or_Inf_or_None(x: Any) -> bool:
    """Tell whether something is None, a text, or a number that says nothing."""
    if x is None or isinstance(x, str):
        return True
    try:
        value = x if isinstance(x, (int, float, np.number)) else get_scalar_constant_value(x)
        return not bool(np.isfinite(value))
    except (TypeError, ValueError):
        return False


def expand_empty(tensor_var: Any, size: Any) -> Any:
    """Return an array with the rows of another one, and room for `size` more that are not set."""
    if isinstance(size, int) and size == 0:
        return tensor_var
    lengths = [tensor_var.shape[i] for i in range(tensor_var.ndim)]
    empty = AllocEmpty(tensor_var.dtype)(size + lengths[0], *lengths[1:])
    expanded = set_subtensor(empty[: lengths[0]], tensor_var)
    expanded.tag.nan_guard_mode_check = False
    return expanded


def forced_replace(out: Any, x: Any, y: Any) -> Any:
    """Return an expression in which all that computes the same as `x` is `y`.

    Examples
    --------
    >>> from theano.scan_module.scan_utils import forced_replace
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> float(forced_replace(T.exp(x) + 1, T.exp(x), y).eval({y: 2.0}))
    3.0
    """
    if out is None:
        return None
    replacements: dict[Any, Any] = {}
    seen: set[Any] = set()
    pending = [out]
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        if equal_computations([v], [x]):
            replacements[v] = y
        elif v.owner is not None:
            pending += v.owner.inputs
    return clone_replace(out, replacements)


def equal_computations(
    xs: Sequence[Any], ys: Sequence[Any], in_xs: Iterable[Any] | None = None, in_ys: Iterable[Any] | None = None
) -> bool:
    """Tell whether variables are computed in the same way, when `in_xs` stand for `in_ys`.

    Raises
    ------
    ValueError
        If the lists have different lengths.
    """
    if len(xs) != len(ys):
        raise ValueError("The number of graphs in each argument must match.")
    are_equal: bool = _equal_computations(list(xs), list(ys), list(in_xs or ()), list(in_ys or ()))
    return are_equal


def reconstruct_graph(
    inputs: Sequence[Any], outputs: Sequence[Any], tag: str | None = None
) -> tuple[list[Any], list[Any]]:
    """Return new variables for inputs, and outputs that are computed of them."""
    new = [safe_new(x, tag or "") for x in inputs]
    instead: dict[Any, Any] = dict(zip(inputs, new, strict=True))
    instead |= {c: c.clone() for c in graph_inputs(outputs) if isinstance(c, Constant) and c not in instead}
    return new, list(clone_replace(list(outputs), instead))


def get_updates_and_outputs(ls: Any) -> tuple[Any, list[Any], dict[Any, Any]]:
    """Return the condition, the outputs and the updates from the result of a step's function.

    Raises
    ------
    ValueError
        If it is not a list of outputs, maybe updates, maybe an :class:`until`, in this order.
    """
    if not _is_known(ls):
        raise ValueError(
            "The return value of your scan lambda expression may only be made of lists, tuples, or dictionaries "
            f"containing Theano variables (or `until` objects), not {ls!r}; see T.constant for numbers."
        )
    if _are_outputs(ls):
        return None, _as_list(ls), {}
    if _are_updates(ls):
        return None, [], dict(ls)
    parts = list(ls) if isinstance(ls, (list, tuple)) else []
    condition = parts.pop().condition if parts and isinstance(parts[-1], until) else None
    updates = dict(parts.pop()) if parts and not _are_outputs(parts[-1]) and _are_updates(parts[-1]) else {}
    outputs = _as_list(parts.pop()) if parts and _are_outputs(parts[-1]) else []
    if parts or not isinstance(ls, (list, tuple)):
        raise ValueError(
            f"Scan cannot parse the return value of your lambda expression, which is: {ls}. It has to return first "
            "the outputs, then the updates, and at the end the condition."
        )
    return condition, outputs, updates


def _is_known(x: Any) -> bool:
    if isinstance(x, Mapping):
        return all(_is_known(part) for part in x.items())
    if isinstance(x, (list, tuple)):
        return all(_is_known(part) for part in x)
    return isinstance(x, (Variable, until))


def _are_outputs(x: Any) -> bool:
    return isinstance(x, Variable) or (isinstance(x, (list, tuple)) and all(isinstance(v, Variable) for v in x))


def _are_updates(x: Any) -> bool:
    if isinstance(x, Mapping):
        return True
    return isinstance(x, (list, tuple)) and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in x)


def _as_list(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


# ---- Replacing variables of a graph, also in the graphs inside its ops

Replacer = Callable[[Any], Any]


def map_variables(replacer: Replacer, graphs: Iterable[Any], additional_inputs: Iterable[Any] = ()) -> list[Any]:
    """Return expressions in which variables are replaced, also inside loops and ops that are made of graphs.

    Parameters
    ----------
    replacer : callable
        Gets a variable and returns its replacement, the same variable where there is none. A replacement
        is not replaced again.
    graphs : iterable of Variable
    additional_inputs : iterable of Variable
        Inputs that the results of `replacer` use; any are allowed here.

    Raises
    ------
    NotImplementedError
        If a shared variable with an update would come into an inner graph.

    Examples
    --------
    >>> from theano.scan_module.scan_utils import map_variables
    >>> import theano.tensor as T
    >>> a, b, c = T.dscalars("a", "b", "c")
    >>> (found,) = map_variables(lambda v: c if v is b else v, [a + b])
    >>> float(found.eval({a: 1.0, c: 2.0}))
    3.0
    """
    mapping = _Mapping(replacer)
    return [mapping.of(v) for v in graphs]


class _Mapping:
    """Variables and their replacements; each is asked about once."""

    def __init__(self, replacer: Replacer) -> None:
        self.replacer = replacer
        self.known: dict[Any, Any] = {}
        self.own: set[Any] = set()
        self.nodes: dict[Apply, list[Any]] = {}

    def of(self, variable: Any) -> Any:
        """Return the replacement of a variable, and of all its ancestors."""
        for v in [*graph_inputs([variable]), *(o for n in toposort([], [variable]) for o in n.outputs)]:
            self._one(v)
        return self.known[variable]

    def _one(self, v: Any) -> None:
        if v in self.known:
            return
        new = v if v in self.own else self.replacer(v)
        if new is v:
            self.known[v] = self._rebuilt(v)
            return
        self.own.add(new)
        self.known[v] = self._rebuilt(v)  # where the new expression is made of the old one
        self.known[v] = self.of(new)

    def _rebuilt(self, v: Any) -> Any:
        node = v.owner
        if node is None:
            return v
        if node not in self.nodes:
            self.nodes[node] = self._outputs(node)
        return self.nodes[node][node.outputs.index(v)]

    def _outputs(self, node: Apply) -> list[Any]:
        inputs = [self.known[v] for v in node.inputs]
        if isinstance(node.op, OpFromGraph) or (isinstance(node.op, Scan) and not isinstance(node.op, Loop)):
            return _inside(self.replacer, node, inputs)
        if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
            return list(node.outputs)
        return list(node.clone_with_new_inputs(inputs, strict=False).outputs)


def _inside(replacer: Replacer, node: Apply, outer: list[Any]) -> list[Any]:
    """Return the outputs of a node whose inner graph has variables replaced, too."""
    op: Any = node.op
    inner = _InnerGraph(replacer, node)
    outputs = map_variables(inner.replaced, op.outputs)
    if all(new is old for new, old in zip(outputs, op.outputs, strict=True)):
        same = all(new is old for new, old in zip(outer, node.inputs, strict=True))
        return list(node.outputs) if same else list(node.clone_with_new_inputs(outer, strict=False).outputs)
    inputs = [*op.inputs, *inner.added.values()]
    if isinstance(op, OpFromGraph):
        made: Any = OpFromGraph(inputs, outputs, **op.kwargs)
        outer = outer[: len(op.inputs)]
    else:
        made = Scan(inputs, outputs, op.info)
    return list(made.make_node(*outer, *inner.added).outputs)


class _InnerGraph:
    """Replacements inside an op: variables they use from outside become inputs."""

    def __init__(self, replacer: Replacer, node: Apply) -> None:
        self.replacer, self.op = replacer, node.op
        self.inputs: Sequence[Any] = self.op.inputs
        self.added: dict[Any, Any] = {}

    def replaced(self, v: Any) -> Any:
        """Return the replacement of a variable of the inner graph."""
        new = self.replacer(v)
        if new is v:
            return v
        for root in graph_inputs([new], self.inputs):
            if isinstance(root, Constant) or root in self.inputs or root in self.added:
                continue
            if getattr(root, "update", None) is not None or getattr(root, "default_update", None) is not None:
                raise NotImplementedError(
                    f"Replacement introduces shared variable {root} which has an update associated with it into "
                    f"the inner graph of {self.op}. This is not currently supported."
                )
            self.added[root] = safe_new(root, "_copy")
        return clone_replace(new, self.added) if self.added else new


# ---- Copies of expressions, with the arguments that programs for Theano 1.0 pass


def clone(
    output: Variable | Sequence[Variable],
    replace: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    strict: bool = True,
    share_inputs: bool = True,
    copy_inputs: bool | None = None,
) -> Any:
    """Return a copy of an expression in which some variables are replaced.

    Parameters
    ----------
    output : Variable or sequence of Variable
        The outputs of the graph to copy.
    replace : mapping or pairs, optional
        Variable -> its replacement.
    strict : bool
        Whether a replacement must have the type of its original, or be converted to it.
    share_inputs : bool
        Whether the copy has the same inputs. If not, it has new ones; a shared variable has a new one with the same
        storage.
    copy_inputs : bool, optional
        The older name of `share_inputs`.

    Returns
    -------
    Variable or list of Variable
        As `output`.

    Raises
    ------
    TypeError
        If a replacement does not fit and `strict` is true.
    GraphError
        If a key is no variable.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> float(theano.clone(x**2 + 1, {x: y * 2}).eval({y: 3.0}))
    37.0
    """
    copies = clone_replace(output, dict(replace or ()), strict)
    if share_inputs if copy_inputs is None else copy_inputs:
        return copies
    roots = graph_inputs([copies] if isinstance(copies, Variable) else list(copies))
    return clone_replace(copies, {root: root.clone() for root in roots if not isinstance(root, Constant)})
