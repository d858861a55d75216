"""Control flow: a choice between two groups of variables, of which only one is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from theano_graph import (
    Apply,
    FunctionGraph,
    Op,
    Type,
    Unstacked,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.modes import optdb
from theano_linker_c.program import Branch, lazy_form
from theano_optimize import Phase, WalkRewriter, node_rewriter

from ._core._convert import as_tensor_variable
from ._core._dtypes import Outputs, TensorLike
from ._core._ops import batch_length, fronted, padded, stack_of
from ._core._type import TensorType, tensor_type
from .elemwise import switch

#: Earlier names of its parts are found beneath it: see `_module_aliases`.
__path__: list[str] = []


class IfElse(Op):
    """The first group of inputs where the condition is true, otherwise the second.

    With the linkers "cvm" and "vm" only the condition and the chosen group are computed; other linkers compute both.

    Parameters
    ----------
    n_outs : int
        How many variables are in a group.
    as_view : bool
        Whether this is said where the op is printed: rewriting for in-place work says so. The chosen values are handed
        on as they are in any case.
    gpu : bool
        Taken for compatibility.
    name : str, optional
        For printing; ops that differ in it only are equal.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("as_view", "gpu", "n_outs")

    def __init__(self, n_outs: int, as_view: bool = False, gpu: bool = False, name: str | None = None) -> None:
        if not isinstance(n_outs, int) or n_outs < 1:
            raise ValueError(
                format_error(f"IfElse chooses between groups of {n_outs!r}", hint="give a number from 1 on")
            )
        self.n_outs = n_outs
        self.as_view, self.gpu = bool(as_view), bool(gpu)
        self.name = name
        self.view_map = {k: [1 + k, 1 + n_outs + k] for k in range(n_outs)}

    def make_node(self, *inputs: TensorLike) -> Apply[Self]:
        """Apply to a condition, the variables of the first group, and those of the second.

        Raises
        ------
        TypeError
            If the condition is no scalar, the number of inputs is wrong, or two variables that stand for the same
            output are of types that no type has both values of.
        """
        if len(inputs) != 1 + 2 * self.n_outs:
            raise TypeError(
                format_error(
                    f"{self} takes a condition and twice {self.n_outs} variables, not {len(inputs)} inputs",
                    hint="give both branches the same number of variables",
                )
            )
        condition, *branches = inputs
        decides = as_tensor_variable(condition)
        if decides.type.ndim:
            raise TypeError(
                format_error(
                    "ifelse: the condition is no scalar",
                    context=[describe(decides)],
                    hint="reduce it (.all(), .any()), or use switch, which chooses for each element",
                )
            )
        n = self.n_outs
        operands = [v if isinstance(v, Variable) else as_tensor_variable(v) for v in branches]
        pairs = [_in_one_place(a, b) for a, b in zip(operands[:n], operands[n:], strict=True)]
        operands = [*(a for a, _ in pairs), *(b for _, b in pairs)]
        types = [_common(i, a, b) for i, (a, b) in enumerate(zip(operands[:n], operands[n:], strict=True))]
        converted = [kind.narrow_variable(v) for kind, v in zip((*types, *types), operands, strict=True)]
        return Apply(self, [decides, *converted], [kind.make_variable() for kind in types])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Hand the chosen values on."""
        start = 1 if inputs[0] else 1 + self.n_outs
        for k, storage in enumerate(output_storage):
            storage[0] = inputs[start + k]

    def __str__(self) -> str:
        notes = [self.name or "", "inplace" if self.as_view else "", "gpu" if self.gpu else ""]
        return f"if{{{','.join(filter(None, notes))}}}"


def _in_one_place(a: Variable, b: Variable) -> tuple[Variable, Variable]:
    """Move arrays on devices to the host, unless both branches are of one type there."""
    if a.type.is_super(b.type) or b.type.is_super(a.type):
        return a, b
    first, second = (as_tensor_variable(v) if hasattr(v, "_as_TensorVariable") else v for v in (a, b))
    return first, second


def _common(index: int, a: Variable, b: Variable) -> Type:
    """Return the narrowest type that has the values of both variables."""
    if a.type.exact == b.type.exact:
        return a.type
    if isinstance(a.type, TensorType) and isinstance(b.type, TensorType):
        if a.type.dtype == b.type.dtype and a.type.ndim == b.type.ndim:
            pairs = zip(a.type.shape, b.type.shape, strict=True)
            return tensor_type(a.type.dtype, tuple(m if m == n else None for m, n in pairs))
    elif a.type.is_super(b.type):
        return a.type
    elif b.type.is_super(a.type):
        return b.type
    raise TypeError(
        format_error(
            f"ifelse: the two branches should have identical types, but they have different types for output {index}: "
            f"{a.type.describe()} and {b.type.describe()}",
            context=[describe(a), describe(b)],
            hint="let both have the same dtype and number of dimensions: cast or reshape one of them",
        )
    )


def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Outputs:
    """Return the variables of one branch, and compute only that one.

    Parameters
    ----------
    condition : scalar
        True for `then_branch`. Anything but 0 is true.
    then_branch, else_branch : variable, or list or tuple of them
        Both of the same form. They need not have the same shape.
    name : str, optional
        For printing.

    Returns
    -------
    Variable or list of Variable
        A list where a branch is a list or a tuple.

    Raises
    ------
    TypeError
        If the condition is no scalar, or the branches do not fit each other.

    Notes
    -----
    Only the linkers "cvm" (the default) and "vm" leave out the other branch. With test values both are computed.
    :func:`switch` chooses for each element, and always computes both.

    Examples
    --------
    >>> import theano.ifelse
    >>> import theano.tensor as T
    >>> a, (x, y) = T.dscalar("a"), T.dmatrices("x", "y")
    >>> theano.ifelse.ifelse(T.lt(a, 0), x.mean(), y.mean()).ndim
    0
    """
    several = isinstance(then_branch, (list, tuple))
    if several != isinstance(else_branch, (list, tuple)):
        raise TypeError(
            format_error(
                "ifelse: one branch is a list and the other is not", hint="give both as lists, or none of them"
            )
        )
    first, second = (list(then_branch), list(else_branch)) if several else ([then_branch], [else_branch])
    if len(first) != len(second) or not first:
        raise TypeError(
            format_error(
                f"ifelse: {len(first)} variables in one branch and {len(second)} in the other",
                hint="give both branches the same number of variables, one or more",
            )
        )
    results: Any = IfElse(len(first), name=name)(condition, *first, *second)
    chosen: Any = list(results) if several and len(first) > 1 else [results] if several else results
    outputs: Outputs = chosen
    return outputs


@lazy_form.register(IfElse)
def _lazy(node: Apply[IfElse]) -> Branch:
    n = node.op.n_outs
    return Branch(0, tuple(range(1, 1 + n)), tuple(range(1 + n, 1 + 2 * n)))


@batch_rule.register(IfElse)
def _batch(node: Apply[IfElse], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable | Unstacked]:
    """One branch for all entries, or a choice for each entry of a result of both."""
    condition, *branches = inputs
    n = node.op.n_outs
    flags = stacked[1:]
    mixed = [flags[k] or flags[n + k] for k in range(n)]
    if stacked[0]:
        pairs = [(fronted(branches[k], flags[k]), fronted(branches[n + k], flags[n + k])) for k in range(n)]
        return [switch(padded(condition, True, a.type.ndim - 1), a, b) for a, b in pairs]
    if any(mixed):
        length = batch_length(inputs, stacked)
        branches = [
            v if flag or not mixed[i % n] else stack_of(v, length)
            for i, (v, flag) in enumerate(zip(branches, flags, strict=True))
        ]
    outputs: list[Variable] = node.op(condition, *branches, return_list=True)
    return [v if flag else Unstacked(v) for v, flag in zip(outputs, mixed, strict=True)]


@pullback.register(IfElse)
def _pullback(node: Apply[IfElse], cotangents: list[Variable]) -> list[Variable | None]:
    """The chosen branch gets the cotangent, the other one zeros; the condition decides nothing nearby."""
    condition, *branches = node.inputs
    n = node.op.n_outs
    results: list[Variable | None] = [None] * (2 * n)
    places = [k for k in range(n) if hasattr(cotangents[k].type, "dtype")]
    if places:
        chosen: list[Any] = [cotangents[k] for k in places]
        then_zeros = [_zeros(branches[k], g) for k, g in zip(places, chosen, strict=True)]
        else_zeros = [_zeros(branches[n + k], g) for k, g in zip(places, chosen, strict=True)]
        for k, g in zip(places, ifelse(condition, chosen, then_zeros), strict=True):
            results[k] = _as_input(g, branches[k])
        for k, g in zip(places, ifelse(condition, else_zeros, chosen), strict=True):
            results[n + k] = _as_input(g, branches[n + k])
    return [_zeros(condition, None), *results]


def _zeros(like: Any, cotangent: Any) -> Any:
    dtype = cotangent.type.dtype if cotangent is not None else like.type.dtype
    return like.zeros_like(dtype=dtype if "float" in dtype or "complex" in dtype else "float64")


def _as_input(cotangent: Any, source: Any) -> Variable:
    """A cotangent may have lost the known lengths of its branch."""
    kind = tensor_type(cotangent.type.dtype, source.type.shape)
    converted: Variable = kind.narrow_variable(cotangent)
    return converted


@pushforward.register(IfElse)
def _pushforward(node: Apply[IfElse], tangents: list[Variable | None]) -> list[Variable | None]:
    condition, *branches = node.inputs
    n = node.op.n_outs
    tangents_of_branches = tangents[1:]
    results: list[Variable | None] = [None] * n
    places = [k for k in range(n) if tangents_of_branches[k] is not None or tangents_of_branches[n + k] is not None]
    if not places:
        return results
    full: list[Any] = [
        _zeros(branch, None) if tangent is None else tangent
        for tangent, branch in zip(tangents_of_branches, branches, strict=True)
    ]
    outcomes = ifelse(condition, [full[k] for k in places], [full[n + k] for k in places])
    for k, tangent in zip(places, outcomes, strict=True):
        results[k] = tangent
    return results


@shape_rule.register(IfElse)
def _shape(node: Apply[IfElse], input_shapes: list[Any]) -> list[Any]:
    condition, n = node.inputs[0], node.op.n_outs
    first, second = input_shapes[1 : 1 + n], input_shapes[1 + n :]
    return [
        tuple(
            length if length is not None else ifelse(condition, _length(a), _length(b))
            for length, a, b in zip(output.type.shape, mine, other, strict=True)
        )
        for output, mine, other in zip(node.outputs, first, second, strict=True)
    ]


def _length(value: Any) -> Any:
    variable: Any = as_tensor_variable(value)
    return variable.astype("int64")


# ---- Choices say that they work in place where rewriting is for that


@node_rewriter([IfElse], name="cond_make_inplace")
def cond_make_inplace(fgraph: FunctionGraph, node: Apply[IfElse]) -> list[Variable] | None:
    """The chosen value is handed on without a copy, and the text of the op says so."""
    op = node.op
    if op.as_view:
        return None
    results: list[Variable] = IfElse(op.n_outs, as_view=True, gpu=op.gpu, name=op.name)(*node.inputs, return_list=True)
    return results


#: Before the handler of in-place work is there: it takes no new nodes of which a result may be one of several inputs.
optdb.register(
    "cond_make_inplace",
    WalkRewriter(cond_make_inplace, order="in_to_out", visit_new=False),
    *("fast_run", "inplace"),
    position=Phase.ADD_DESTROY.value - 0.01,
)


__all__ = ["IfElse", "cond_make_inplace", "ifelse"]
