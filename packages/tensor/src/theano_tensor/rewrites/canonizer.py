"""Sums with differences, and products with quotients, in a canonical form: terms cancelled and gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable
from theano_linker_c import scalar
from theano_optimize import Exactness, NodeRewriter

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import TensorLike
from .._core._type import Tensor, TensorType
from ..elemwise import Elemwise
from ._language import call, cast_to, fitted, kind_of, lift, number, rule, scalar_constant, sole_client

Found = list[Variable] | None
#: Levels of rewriting with little in them, FAST_COMPILE among them, go without these.
ONLY_RUN = ("fast_run",)
#: No expression with more terms is taken apart: the work for one node stays bounded.
MAX_TERMS = 64


class AlgebraicCanonizer(NodeRewriter):
    """Simplification of expressions over an operation that commutes and associates, and its inverse.

    Parameters
    ----------
    main : Elemwise
        Commutative and associative, for any number of inputs: `add`, `mul`.
    inverse : Elemwise
        ``inverse(main(x, y), y)`` is x: `sub`, `true_div`.
    reciprocal : Elemwise or callable
        ``main(x, reciprocal(y))`` is ``inverse(x, y)``: `neg`, `inv`.
    calculate : callable
        ``calculate(num, denum)`` computes ``inverse(main(*num), main(*denum))`` for lists of numbers or arrays, and the
        neutral element for two empty lists.
    use_reciprocal : bool
        Whether results may use `reciprocal`; else they use ``inverse(neutral, x)``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from math import prod
    >>> x, y = T.dvectors("x", "y")
    >>> canonizer = T.opt.AlgebraicCanonizer(T.mul, T.true_div, T.inv, lambda n, d: prod(n) / prod(d))
    >>> canonizer.simplify(*canonizer.get_num_denum(x * y / x))
    ([y], [])
    """

    def __init__(
        self,
        main: Elemwise,
        inverse: Elemwise,
        reciprocal: Callable[..., Any],
        calculate: Callable[..., Any],
        use_reciprocal: bool = True,
    ) -> None:
        super().__init__(f"{type(self).__name__}({main.scalar_op})")
        self.main = main
        self.inverse = inverse
        self.reciprocal = reciprocal
        self.calculate = calculate
        self.use_reciprocal = use_reciprocal
        ops = (main, inverse, reciprocal)
        self._kinds = frozenset(type(op.scalar_op) for op in ops if isinstance(op, Elemwise))
        self.external_simplifiers: list[Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]] = []

    def tracks(self) -> Sequence[Op | type[Op]]:
        """The main operation, its inverse, and the reciprocal where that is an op."""
        kinds = [self.main, self.inverse]
        return [*kinds, self.reciprocal] if isinstance(self.reciprocal, Op) else kinds

    def add_simplifier(self, simplifier: Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]) -> None:
        """Add a function that :meth:`simplify` applies to numerator and denominator."""
        self.external_simplifiers.append(simplifier)

    def parts(self, variable: Variable) -> list[tuple[Variable, bool]] | None:
        """Return the operands of `variable`, each with whether it is inverted; None if this operation did not make it.

        A node that converts to another dtype is left whole.
        """
        kind = kind_of(variable)
        if kind is None or kind not in self._kinds:
            return None
        node = variable.owner
        assert node is not None
        dtype = getattr(variable.type, "dtype", None)
        if any(getattr(v.type, "dtype", None) != dtype and self.get_constant(v) is None for v in node.inputs):
            return None
        if node.op == self.main:
            return [(v, False) for v in node.inputs]
        if node.op == self.inverse:
            return [(node.inputs[0], False), (node.inputs[1], True)]
        if node.op == self.reciprocal:
            return [(node.inputs[0], True)]
        return None

    def get_num_denum(
        self, input: Any, enter: Callable[[Variable], bool] = lambda variable: True
    ) -> tuple[list[Any], list[Any]]:
        """Return two lists such that `input` is ``inverse(main(*num), main(*denum))``.

        Parameters
        ----------
        input : Tensor
        enter : callable, optional
            Whether something inside may be taken apart; everything by default.

        Returns
        -------
        num, denum : list of Tensor
            ``a / (b / c)`` is ``([a, c], [b])``, for instance.
        """
        num: list[Any] = []
        denum: list[Any] = []
        stack: list[tuple[Variable, bool]] = [(input, False)]
        while stack:
            variable, inverted = stack.pop()
            room = len(num) + len(denum) + len(stack) < MAX_TERMS
            inner = self.parts(variable) if room and (variable is input or enter(variable)) else None
            if inner is None:
                (denum if inverted else num).append(variable)
            else:
                stack.extend((v, flag != inverted) for v, flag in reversed(inner))
        return num, denum

    @staticmethod
    def get_constant(v: Any) -> Any:
        """Return the number or array that `v` is or holds, or None if it is a variable."""
        if not isinstance(v, Variable):
            return v
        value = number(v)
        return v.data if value is None and isinstance(v, Constant) else value

    def widened(self, terms: Iterable[Any], out_type: Any) -> list[Any]:
        """Return terms with constants of other dtypes converted, as operations on them and the others do it.

        Operations on a narrow constant alone, as with ``-1`` of dtype uint8, would go round otherwise.
        """
        dtype = getattr(out_type, "dtype", None)
        return [_converted(v, dtype) if dtype is not None and isinstance(v, Tensor) else v for v in terms]

    def merge_num_denum(self, num: Sequence[Any], denum: Sequence[Any]) -> Any:
        """Return an expression of ``inverse(main(*num), main(*denum))`` with as few operations as possible."""
        if not num and not denum:
            return as_tensor_variable(self.calculate([], []))
        if not denum:
            return self._main(num)
        if num:
            return self.inverse(self._main(num), self._main(denum))
        if self.use_reciprocal:
            return self.reciprocal(self._main(denum))
        below = self._main(denum)
        return self.inverse(_constant(self.calculate([], []), below.type), below)

    def _main(self, terms: Sequence[Any]) -> Any:
        return as_tensor_variable(terms[0]) if len(terms) == 1 else self.main(*terms)

    def simplify(self, num: list[Any], denum: list[Any], out_type: Any = None) -> tuple[list[Any], list[Any]]:
        """Return numerator and denominator without common factors, and with one constant at most."""
        num, denum = self.simplify_constants(*self.simplify_factors(num, denum), out_type=out_type)
        for simplifier in self.external_simplifiers:
            num, denum = simplifier(num, denum)
        return num, denum

    def may_simplify(self, num: Sequence[Any], denum: Sequence[Any]) -> bool:
        """Tell whether there is something to gain: something on both sides, or constants to put together or to drop."""
        if self.external_simplifiers:
            return True
        if denum and not {id(v) for v in num}.isdisjoint([id(v) for v in denum]):
            return True
        constants = [value for v in (*num, *denum) if (value := self.get_constant(v)) is not None]
        return len(constants) > 1 or (len(constants) == 1 and _same(constants[0], self.calculate([], [])))

    def simplify_factors(self, num: list[Any], denum: list[Any]) -> tuple[list[Any], list[Any]]:
        """Remove the common elements of both lists, which are changed and returned."""
        for term in list(num):
            position = next((i for i, other in enumerate(denum) if other is term), None)
            if position is not None:
                del denum[position]
                del num[next(i for i, other in enumerate(num) if other is term)]
        return num, denum

    def simplify_constants(
        self, orig_num: Sequence[Any], orig_denum: Sequence[Any], out_type: Any = None
    ) -> tuple[list[Any], list[Any]]:
        """Return the lists with all constants put together, as the first of the numerator.

        Nothing is done where the result would overflow or vanish.

        Parameters
        ----------
        orig_num, orig_denum : sequence
        out_type : TensorType, optional
            Whose dtype the constant gets.
        """
        num, above = _split(self.get_constant, orig_num)
        denum, below = _split(self.get_constant, orig_denum)
        if not above and not below:
            return num, denum
        neutral = self.calculate([], [])
        with np.errstate(all="ignore"):
            value = self.calculate(above, below)
        if _same(value, neutral):
            return num, denum
        first = next(iter(orig_num), None)
        lone = len(above) == 1 and not below and self.get_constant(first) is not None
        if lone or not _is_sound(value, [*above, *below], getattr(out_type, "dtype", None)):
            return list(orig_num), list(orig_denum)
        return [_constant(value, out_type), *num], denum

    def transform(self, fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
        """Replace a sum or product by one of fewer terms; the work is done at its root."""
        output = node.outputs[0]
        client = sole_client(fgraph, output)
        if client is not None and self.parts(client.outputs[0]) is not None:
            return None
        num, denum = self.get_num_denum(output, lambda v: sole_client(fgraph, v) is not None)
        before = len(num) + len(denum)
        num, denum = self.widened(num, output.type), self.widened(denum, output.type)
        leaves = [*num, *denum]
        num, denum = self.simplify(num, denum, output.type)
        if len(num) + len(denum) >= before:
            return None
        merged = self.merge_num_denum(num, denum) if num or denum else _constant(self.calculate([], []), output.type)
        return fitted(node, _padded(merged, output.type.ndim), leaves)


def _split(get_constant: Callable[[Any], Any], terms: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    others, constants = [], []
    for term in terms:
        value = get_constant(term)
        if value is None:
            others.append(term)
        else:
            constants.append(value)
    return others, constants


def _converted(v: Tensor, dtype: str) -> Tensor:
    if v.type.dtype == dtype:
        return v
    value = number(v)
    if value is not None:
        return scalar_constant(value, dtype, v.type.ndim)
    return constant(np.asarray(v.data, dtype=dtype)) if isinstance(v, Constant) else cast_to(v, dtype)


def _same(a: Any, b: Any) -> bool:
    return bool(np.ndim(a) == 0 and a == b)


def _is_sound(value: Any, parts: Sequence[Any], dtype: str | None) -> bool:
    """Tell whether no constant made of finite ones is infinite, and none made of numbers besides 0 vanishes."""
    array = np.asarray(value)
    if dtype is not None:
        with np.errstate(all="ignore"):
            array, exact = array.astype(dtype), array
        if array.dtype.kind in "iub" and not np.array_equal(array, exact):
            return False
    if array.dtype.kind not in "fiub":
        return False
    finite = all(np.isfinite(p).all() for p in parts)
    nonzero = all(np.all(p) for p in parts)
    return bool(finite and np.isfinite(array).all() and (array.all() or not nonzero))


def _constant(value: TensorLike, type_: Any) -> Tensor:
    return constant(np.asarray(value, dtype=type_.dtype)) if isinstance(type_, TensorType) else constant(value)


def _padded(variable: Tensor, ndim: int) -> Tensor:
    from_left = ndim - variable.type.ndim
    return variable.dimshuffle(*["x"] * from_left, *range(variable.type.ndim)) if from_left else variable


def quotients_by_own_size(numerators: list[Any], denominators: list[Any]) -> tuple[list[Any], list[Any]]:
    """Replace ``x / abs(x)`` by the sign of x in the lists of a product, which are changed and returned.

    Examples
    --------
    >>> from theano_tensor import dvector
    >>> x = dvector("x")
    >>> quotients_by_own_size([x], [abs(x)])
    ([Elemwise{sgn,no_inplace}.0], [])
    """
    for below in list(denominators):
        owner = getattr(below, "owner", None)
        if owner is None or owner.op != lift(scalar.abs):
            continue
        position = next((i for i, above in enumerate(numerators) if above is owner.inputs[0]), None)
        if position is not None:
            numerators[position] = call(scalar.sgn, numerators[position])
            denominators[:] = [d for d in denominators if d is not below]
    return numerators, denominators


def _difference(num: Sequence[Any], denum: Sequence[Any]) -> Any:
    return sum(num) - sum(denum)


def _quotient(num: Sequence[Any], denum: Sequence[Any]) -> Any:
    above: Any = 1
    below: Any = 1
    for value in num:
        above = above * value
    for value in denum:
        below = below * value
    return np.true_divide(above, below) if len(denum) else above


#: Of sums with differences, and of products with quotients.
add_canonizer = AlgebraicCanonizer(lift(scalar.add), lift(scalar.sub), lift(scalar.neg), _difference)
mul_canonizer = AlgebraicCanonizer(
    lift(scalar.mul), lift(scalar.true_div), lift(scalar.reciprocal), _quotient, use_reciprocal=False
)
mul_canonizer.add_simplifier(quotients_by_own_size)


@rule(scalar.add, scalar.sub, reach=4, exactness=Exactness.STABILIZING, key="local_add_canonizer", tags=ONLY_RUN)
def terms_cancelled(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``x + y - x -> y``, and constants of a sum in one; terms are otherwise left as they are."""
    output = node.outputs[0]
    client = sole_client(fgraph, output)
    if output.type.dtype == "bool" or (client is not None and add_canonizer.parts(client.outputs[0]) is not None):
        return None
    num, denum = add_canonizer.get_num_denum(output, lambda v: sole_client(fgraph, v) is not None)
    if not add_canonizer.may_simplify(num, denum):
        return None
    num, denum = add_canonizer.widened(num, output.type), add_canonizer.widened(denum, output.type)
    leaves: list[Variable] = [*num, *denum]
    before = len(leaves)
    num, denum = add_canonizer.simplify(num, denum, output.type)
    if len(num) + len(denum) >= before:
        return None
    if not num and not denum:
        return fitted(node, _padded(_constant(0, output.type), output.type.ndim), leaves)
    return fitted(node, _padded(_signed_sum(num, denum), output.type.ndim), leaves)


def _signed_sum(num: Sequence[Tensor], denum: Sequence[Tensor]) -> Tensor:
    """Return a sum with differences, two terms at a time; a constant comes last, as other rules expect it nowhere."""
    terms = [*((v, scalar.add) for v in num), *((v, scalar.sub) for v in denum)]
    result, op = terms[0]
    if op == scalar.sub:
        result = call(scalar.neg, result)
    for term, op in terms[1:]:
        result = call(op, result, term)
    return result


@rule(
    scalar.true_div,
    reach=2,
    exactness=Exactness.STABILIZING,
    key="local_x_over_abs_x",
    names=("local_mul_canonizer",),
    tags=ONLY_RUN,
)
def quotient_by_own_size(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``x / abs(x) -> sgn(x)``, also with further factors; it is 0 at 0. Truth values have no sign."""
    above, below = node.inputs
    if above.type.dtype == "bool" or not any(kind_of(v) is _ABS for v in (below, *_factors(below))):
        return None
    inner = mul_canonizer.get_num_denum(node.outputs[0], lambda v: sole_client(fgraph, v) is not None)
    for above_all, below_all in (inner, ([above], [below])):
        count = len(below_all)
        num, denum = quotients_by_own_size(list(above_all), list(below_all))
        if len(denum) < count:
            merged = mul_canonizer.merge_num_denum(num, denum)
            return fitted(node, _padded(merged, node.outputs[0].type.ndim), [above, below])
    return None


_ABS = type(scalar.abs)


def _factors(variable: Variable) -> list[Variable]:
    node = variable.owner
    return node.inputs if node is not None and node.op == lift(scalar.mul) else []
