"""Derivatives of functions, and functions over a further dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano_graph import TheanoError, Variable, config, format_error
from theano_tensor import BatchError, as_tensor_variable, concatenate, reshape, tensor_copy, vmap as vmap_of
from theano_tensor.builders import checkpoint as checkpoint_of
from theano_tensor.gradient import Lop, Rop, grad as grad_of, jacobian as jacobian_of

from ._jit import MEMO, Jitted
from ._trees import Parameters, Structure, StructureError, flatten, is_leaf, leaves_like, parts, unflatten

# ---- Derivatives of functions in plain Python, as such functions: `grad`, `jacobian`, `hessian`, `jvp`, `vjp`

Argnums = int | Sequence[int]


class DerivativeError(TheanoError, TypeError):
    """A function has no derivative of the kind asked for."""


def value_and_grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Jitted:
    """Return a function that computes the value of a function, and its gradient.

    Parameters
    ----------
    function : callable
        Returns a real scalar; with `has_aux`, a pair of it and anything else.
    argnums : int or sequence of int
        Positions of the arguments that the gradient is taken with respect to: floating-point arrays and numbers, or
        containers of them.
    has_aux : bool

    Returns
    -------
    Jitted
        It takes the arguments of `function` and returns the pair of its result and the gradient, which is of the
        structure of the argument; a tuple of these where `argnums` is a sequence. It works on symbolic variables, and
        with arrays it is compiled as by :func:`theano.jit`.

    Raises
    ------
    TypeError
        When it is called, if the result is no scalar, or an argument holds integers.

    Examples
    --------
    >>> from theano.functional import value_and_grad
    >>> value, slope = value_and_grad(lambda p: p["a"] ** 2 + p["b"])({"a": 3.0, "b": 1.0})
    >>> float(value), float(slope["a"]), float(slope["b"])
    (10.0, 6.0, 1.0)
    """

    def derivative(*args: Any, **kwargs: Any) -> Any:
        points, call = _at_points("grad", argnums, args)
        result = function(*call, **kwargs)
        cost, _ = pair = _pair(result) if has_aux else (result, None)
        cost = _scalar(cost)
        slopes = grad_of(cost, points.leaves, disconnected_inputs="ignore", add_names=False)
        return ((cost, pair[1]) if has_aux else cost), points.arranged(slopes)

    return as_jitted("value_and_grad", function, derivative, argnums, has_aux)


def grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Jitted:
    """Return a function that computes the gradient of a function.

    Parameters
    ----------
    function : callable
        Returns a real scalar; with `has_aux`, a pair of it and anything else.
    argnums : int or sequence of int
        Positions of the arguments that the gradient is taken with respect to.
    has_aux : bool

    Returns
    -------
    Jitted
        As that of :func:`value_and_grad`, without the result: the gradient, or with `has_aux` the pair of the gradient
        and the second result of `function`.

    Examples
    --------
    >>> from theano.functional import grad
    >>> float(grad(grad(lambda x: x**3))(2.0))
    12.0
    """
    both = value_and_grad(function, argnums, has_aux)

    def derivative(*args: Any, **kwargs: Any) -> Any:
        result, slopes = both(*args, **kwargs)
        return (slopes, result[1]) if has_aux else slopes

    return as_jitted("grad", function, derivative, argnums, has_aux)


def jacobian(function: Callable[..., Any], argnums: Argnums = 0) -> Jitted:
    """Return a function that computes all first derivatives of a function.

    Parameters
    ----------
    function : callable
        Returns a variable, or a container of variables, of any shapes.
    argnums : int or sequence of int
        Positions of the arguments.

    Returns
    -------
    Jitted
        It returns, in the structure of the result, for each leaf the derivatives in the structure of the argument. They
        have the shape of the result's leaf followed by that of the argument's leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.functional import jacobian
    >>> jacobian(lambda x: x**2)(np.array([4.0, 5.0])).tolist()
    [[8.0, 0.0], [0.0, 10.0]]
    """

    def derivative(*args: Any, **kwargs: Any) -> Any:
        points, call = _at_points("jacobian", argnums, args)
        results, structure = flatten(function(*call, **kwargs))
        blocks = [points.arranged(_blocks(as_tensor_variable(y), points.leaves)) for y in results]
        return unflatten(structure, blocks)

    return as_jitted("jacobian", function, derivative, argnums)


def hessian(function: Callable[..., Any], argnums: Argnums = 0) -> Jitted:
    """Return a function that computes all second derivatives of a function.

    Parameters
    ----------
    function : callable
        Returns a real scalar.
    argnums : int or sequence of int
        Positions of the arguments.

    Returns
    -------
    Jitted
        ``jacobian(grad(function))``: for each leaf of the argument, in its structure, the derivatives of the gradient
        with respect to each leaf, again in its structure.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.functional import hessian
    >>> hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacobian(grad(function, argnums), argnums)


def jvp(function: Callable[..., Any], *at: Any) -> Any:
    """Return a function that computes a function and its derivative in one direction (forward mode).

    Parameters
    ----------
    function : callable
    *at : tuple, tuple
        The arguments and directions, where the products are wanted at once: ``jvp(f, (x,), (v,))`` is
        ``jvp(f)((x,), (v,))``.

    Returns
    -------
    Jitted
        It takes the tuple of the arguments and the tuple of directions, of the same structure, and returns the pair of
        the result and the derivative, of one structure.

    Examples
    --------
    >>> from theano.functional import jvp
    >>> value, slope = jvp(lambda x, y: x * y)((3.0, 4.0), (1.0, 0.0))
    >>> float(value), float(slope)
    (12.0, 4.0)
    """

    def derivative(primals: Any, tangents: Any) -> Any:
        points, call = _at_points("jvp", range(len(primals)), primals)
        directions = [as_tensor_variable(v) for v in leaves_like(points.structure, tuple(tangents), "jvp", "primals")]
        results, structure = flatten(function(*call))
        values = [as_tensor_variable(y) for y in results]
        slopes: Sequence[Any] = Rop(values, points.leaves, directions, disconnected_outputs="ignore") if values else []
        return unflatten(structure, values), unflatten(structure, slopes)

    jitted = as_jitted("jvp", function, derivative, of=derivative)
    return jitted(*at) if at else jitted


def vjp(function: Callable[..., Any], *at: Any) -> Any:
    """Return a function that computes a function and prepares products with its Jacobian from the left (reverse mode).

    Parameters
    ----------
    function : callable
    *at : object
        The arguments, where the products are wanted at once: ``vjp(f, x)`` is ``vjp(f)(x)``.

    Returns
    -------
    callable
        It takes the arguments and returns the pair of the result and a function, which takes cotangents in the
        structure of the result and returns the tuple of gradients by the arguments. With arrays, both are compiled, and
        the second one repeats the parts of the first that it needs.

    Examples
    --------
    >>> from theano.functional import vjp
    >>> value, pullback = vjp(lambda x, y: x * y)(3.0, 4.0)
    >>> [float(slope) for slope in pullback(1.0)]
    [4.0, 3.0]
    """

    def derivative(primals: Any, cotangents: Any) -> Any:
        points, call = _at_points("vjp", range(len(primals)), primals)
        results, structure = flatten(function(*call))
        values = [as_tensor_variable(y) for y in results]
        seeds = [as_tensor_variable(v) for v in leaves_like(structure, cotangents, "vjp", "the result")]
        return points.arranged(Lop(values, points.leaves, seeds, disconnected_inputs="ignore"))

    values = as_jitted("values", function, function)
    products = as_jitted("vjp", function, derivative, of=derivative)

    def both(*primals: Any) -> tuple[Any, Callable[[Any], Any]]:
        return values(*primals), lambda cotangents: products(primals, cotangents)

    return both(*at) if at else both


def checkpoint(function: Callable[..., Any]) -> Jitted:
    """Return a function with the same results, of which gradients keep no intermediate result but compute it again.

    Parameters
    ----------
    function : callable

    Returns
    -------
    Jitted

    See Also
    --------
    theano_tensor.builders.checkpoint : the same for expressions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.functional import checkpoint, grad
    >>> float(grad(checkpoint(lambda x: T.exp(2 * x)))(0.0))
    2.0
    """

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        starts = [x for x in flatten((args, kwargs))[0] if isinstance(x, Variable)]
        results, structure = flatten(function(*args, **kwargs))
        chosen = [k for k, y in enumerate(results) if isinstance(y, Variable)]
        for k, y in zip(chosen, checkpoint_of([results[k] for k in chosen], starts), strict=True):
            results[k] = y
        return unflatten(structure, results)

    return as_jitted("checkpoint", function, recomputed)


def as_jitted(
    name: str,
    function: Callable[..., Any],
    target: Callable[..., Any],
    *options: Any,
    of: Callable[..., Any] | None = None,
) -> Jitted:
    """Return a jitted function of a function: the one that was made before, so that its programs are used again.

    Parameters
    ----------
    name : str
        Of the kind of function.
    function, target : callable
        The function of the user, and the function of its derivative.
    *options : hashable
    of : callable, optional
        Whose parameters the result has, `function` by default.
    """

    def make() -> Jitted:
        # Methods of jitted functions have the attribute, too.
        static: Iterable[str] = () if of is not None else getattr(function, "static_argnames", ())
        return Jitted(function, target, Parameters(of or function, static, ()), {"mode": None})

    return MEMO.get(function, (name, *(x if isinstance(x, int) else tuple(x) for x in options)), make)


class _Points:
    """The variables that derivatives are taken with respect to, and the structure that results come in."""

    __slots__ = ("leaves", "structure")

    def __init__(self, leaves: list[Any], structure: Structure) -> None:
        self.leaves = leaves
        self.structure = structure

    def arranged(self, derivatives: Sequence[Any]) -> Any:
        """Return derivatives, one for each leaf, in the structure."""
        return unflatten(self.structure, derivatives)


def _at_points(who: str, argnums: Argnums, args: tuple[Any, ...]) -> tuple[_Points, list[Any]]:
    """Return new variables in place of the leaves of some arguments, and all arguments with these in them.

    They are new so that variables a function reads from elsewhere are no part of the derivative, even equal ones.
    """
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    call = list(args)
    for k in numbers:
        if not -len(args) <= k < len(args):
            raise DerivativeError(
                format_error(
                    f"{who}: argnums has {k}, and there are {len(args)} arguments by position",
                    hint="pass the argument by position",
                )
            )
        leaves, structure = flatten(args[k])
        call[k] = unflatten(structure, [_point(who, k, leaf) for leaf in leaves])
    chosen = call[argnums] if isinstance(argnums, int) else tuple(call[k] for k in numbers)
    return _Points(*flatten(chosen)), call


def _point(who: str, k: int, leaf: Any) -> Any:
    if isinstance(leaf, float) and not isinstance(leaf, np.generic):
        leaf = np.asarray(leaf, str(config.floatX))
    variable = as_tensor_variable(leaf) if is_leaf(leaf) else None
    if variable is None or np.dtype(variable.dtype).kind not in "fc":
        kind = type(leaf).__name__ if variable is None else variable.dtype
        raise DerivativeError(
            format_error(
                f"{who}: argument {k} holds a value of {kind}; derivatives are by floating-point values",
                hint="pass 2.0 for 2, or x.astype('float64')",
            )
        )
    return tensor_copy(variable)


def _pair(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise DerivativeError(
            format_error(
                "grad with has_aux: the function returned no pair",
                hint="return (cost, anything else), or leave has_aux out",
            )
        )
    return result


def _scalar(cost: Any) -> Any:
    leaves, _ = flatten(cost)
    if len(leaves) != 1 or leaves[0] is not cost or not is_leaf(cost):
        raise DerivativeError(
            format_error(
                f"grad: the function returned a {type(cost).__name__}, and a gradient is that of one scalar",
                hint="return a scalar; has_aux=True takes a pair (cost, anything else); jacobian takes containers",
            )
        )
    return as_tensor_variable(cost)


def _blocks(y: Any, wrt: Sequence[Any]) -> list[Any]:
    """Return the derivatives of an array of any shape with respect to arrays of any shapes."""
    if y.ndim == 0:
        return list(jacobian_of(y, list(wrt), disconnected_inputs="ignore", vectorize="auto"))
    rows = jacobian_of(y.flatten(), list(wrt), disconnected_inputs="ignore", vectorize="auto")
    if y.ndim == 1:
        return list(rows)
    return [reshape(r, concatenate([y.shape, x.shape]), ndim=y.ndim + x.ndim) for r, x in zip(rows, wrt, strict=True)]


# ---- Functions of one entry as functions of batches, over containers


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Jitted:
    """Return a function that applies a function to each entry along a dimension of its arguments.

    Parameters
    ----------
    function : callable
        Returns a variable, or a container of variables.
    in_axes : int or None, or sequence of these or of containers
        For each argument, in the order of the parameters, the dimension that numbers the entries; None for an argument
        that is the same for all entries. One number is for all arguments. A container has the structure of its
        argument, or a number for a part of it. Keyword-only arguments are the same for all entries.
    out_axes : int or None, or container
        The dimension of the entries in the results, in the same way.

    Returns
    -------
    Jitted
        It works on symbolic variables, and with arrays it is compiled as by :func:`theano.jit`.

    Raises
    ------
    BatchError
        When the function is called: if the arguments and `in_axes` differ in number, no argument is mapped, lengths
        differ, or a result depends on the entry and its entry of `out_axes` is None.
    StructureError
        If a container of `in_axes` or `out_axes` does not fit its argument or the result.

    See Also
    --------
    theano.tensor.vmap : the same for variables.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.functional import grad, vmap
    >>> def loss(p, x):
    ...     return (p["a"] * x + p["b"]) ** 2
    >>> slopes = vmap(grad(loss), in_axes=(None, 0))({"a": 1.0, "b": 0.0}, np.array([1.0, 2.0]))
    >>> slopes["a"].tolist(), slopes["b"].tolist()
    ([2.0, 8.0], [2.0, 4.0])
    """

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        results: list[Any] = []
        axes_of_results: list[int | None] = []

        def of_leaves(*entries: Any) -> list[Any]:
            result = function(*unflatten(structure, entries), **kwargs)
            values, form = flatten(result)
            results.append(form)
            # The vmap of variables reads this list after the call.
            axes_of_results.extend(_axes("out_axes", out_axes, result))
            return [as_tensor_variable(value) for value in values]

        values = vmap_of(of_leaves, _axes_of_arguments(in_axes, args), axes_of_results)(*leaves)
        return unflatten(results[0], values)

    return as_jitted("vmap", function, mapped, str((in_axes, out_axes)))


def _axes_of_arguments(in_axes: Any, args: Sequence[Any]) -> list[int | None]:
    if in_axes is None or isinstance(in_axes, int):
        in_axes = [in_axes] * len(args)
    if len(in_axes) != len(args):
        raise BatchError(
            format_error(
                f"vmap: in_axes has {len(in_axes)} entries for {len(args)} arguments",
                hint="give one entry for each argument; keyword-only arguments are the same for all entries",
            )
        )
    return [axis for entry, value in zip(in_axes, args, strict=True) for axis in _axes("in_axes", entry, value)]


def _axes(name: str, axes: Any, value: Any) -> list[int | None]:
    """Return an axis for each leaf of a value; a number is for all leaves below it."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(flatten(value)[0])
    outer, inner = parts(axes), parts(value)
    if outer is None or inner is None or outer.rebuild != inner.rebuild:
        raise StructureError(
            format_error(
                f"vmap: {name} has {axes!r} where there is a {type(value).__name__}",
                hint="use the structure of the value, or one number for all of it",
            )
        )
    pairs = zip(outer.children, inner.children, strict=True)
    return [axis for below, child in pairs for axis in _axes(name, below, child)]
