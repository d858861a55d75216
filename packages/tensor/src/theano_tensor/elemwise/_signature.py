"""How elementwise functions are called, and their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from theano_graph import format_error
from theano_linker_c.scalar import ScalarOp

# ---- How elementwise functions are called, for readers, editors, and errors about wrong keywords

#: Names of the arguments where `x` and `y` would say too little.
_NAMES: dict[str, tuple[str, ...]] = {
    "switch": ("condition", "a", "b"),
    "clip": ("x", "min", "max"),
    "chi2sf": ("x", "k"),
    "gammainc": ("k", "x"),
    "gammaincc": ("k", "x"),
    "gammal": ("k", "x"),
    "gammau": ("k", "x"),
    "betainc": ("a", "b", "x"),
    "betaln": ("a", "b"),
    "jv": ("order", "x"),
    "iv": ("order", "x"),
    "ive": ("order", "x"),
    "kve": ("order", "x"),
    "gammaincinv": ("k", "x"),
    "gammainccinv": ("k", "x"),
    "betaincinv": ("a", "b", "x"),
    "zeta": ("s", "q"),
    "owens_t": ("h", "a"),
    "hyp2f1": ("a", "b", "c", "z"),
    "arctan2": ("y", "x"),
    "second": ("like", "value"),
    "pow": ("base", "exponent"),
}
_USUAL = ("x", "y", "z")
#: Of an op that takes any number of operands.
ANY_NUMBER = ("*inputs",)


def signature_of(op: Any) -> inspect.Signature:
    """Return the signature of an elementwise op: operands are given by position.

    Parameters
    ----------
    op : Elemwise

    Examples
    --------
    >>> from theano_tensor import clip
    >>> signature_of(clip)
    <Signature (x, min, max, /, *, name=None)>
    """
    kinds = inspect.Parameter
    name = kinds("name", kinds.KEYWORD_ONLY, default=None)
    words = words_of(op.scalar_op)
    if words == ANY_NUMBER:
        return inspect.Signature([kinds("inputs", kinds.VAR_POSITIONAL), name])
    return inspect.Signature([*(kinds(word, kinds.POSITIONAL_ONLY) for word in words), name])


def words_of(op: Any) -> tuple[str, ...]:
    """Return the names of the operands of a scalar op; `ANY_NUMBER` where it takes as many as there are.

    Parameters
    ----------
    op : ScalarOp
    """
    count = op.nin
    if count is None or count < 0:
        return ANY_NUMBER
    usual = _USUAL if count <= len(_USUAL) else tuple(f"x{k}" for k in range(count))
    return _NAMES.get(str(op), usual)[:count]


class SignatureOf:
    """The attribute by which `inspect.signature` learns how an op is called; the class of ops has none."""

    def __get__(self, op: Any, owner: type) -> inspect.Signature:
        if op is None:
            raise AttributeError("__signature__")
        return signature_of(op)


def wrong_keywords(op: Any, names: Iterable[str]) -> TypeError:
    """Return the error for keywords that an elementwise op does not have."""
    listed = ", ".join(f"`{name}`" for name in sorted(names))
    function = str(op.scalar_op)
    return TypeError(
        format_error(
            f"{function}: there is no argument {listed}",
            context=[f"signature: {function}{signature_of(op)}"],
            hint="give the operands by position; the dtype is changed by .astype(dtype)",
        )
    )


# ---- Docstrings of elementwise functions: the description of their scalar op, operands, result, and an example

#: Function -> the arguments of a call, and the printed value of its result.
EXAMPLES: dict[str, tuple[str, str]] = {
    "add": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([ 3.,  8., 12.])"),
    "mul": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([ 2., 16., 27.])"),
    "sub": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([-1.,  0.,  6.])"),
    "neg": ("[-2.0, 0.0, 3.0]", "array([ 2., -0., -3.])"),
    "abs_": ("[-2.0, 0.0, 3.0]", "array([2., 0., 3.])"),
    "sgn": ("[-2.0, 0.0, 3.0]", "array([-1.,  0.,  1.])"),
    "sqr": ("[-2.0, 0.0, 3.0]", "array([4., 0., 9.])"),
    "lt": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([ True, False, False])"),
    "le": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([ True,  True, False])"),
    "gt": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([False, False,  True])"),
    "ge": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([False,  True,  True])"),
    "eq": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([False,  True, False])"),
    "neq": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([ True, False,  True])"),
    "isnan": ("[1.0, float('nan'), float('inf')]", "array([False,  True, False])"),
    "isinf": ("[1.0, float('nan'), float('inf')]", "array([False, False,  True])"),
    "log1mexp": ("[-1.0, -0.1]", "array([-0.45867515, -2.35216846])"),
    "logaddexp": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([2.31326169, 4.69314718, 9.00247569])"),
    "hypot": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([2.23606798, 5.65685425, 9.48683298])"),
    "cbrt": ("[1.0, 4.0, 8.0]", "array([1.        , 1.58740105, 2.        ])"),
    "deg2rad": ("[90.0, 180.0]", "array([1.57079633, 3.14159265])"),
    "rad2deg": ("[0.0, 3.141592653589793]", "array([  0., 180.])"),
    "true_div": ("[1.0, 4.0], [2.0, 8.0]", "array([0.5, 0.5])"),
    "inv": ("[1.0, 4.0]", "array([1.  , 0.25])"),
    "int_div": ("[7, -7], [2, 2]", "array([ 3, -4])"),
    "mod": ("[7, -7], [2, 2]", "array([1, 1])"),
    "exp": ("[0.0, 0.5]", "array([1.        , 1.64872127])"),
    "exp2": ("[0.0, 0.5]", "array([1.        , 1.41421356])"),
    "expm1": ("[0.0, 0.5]", "array([0.        , 0.64872127])"),
    "log": ("[1.0, 10.0]", "array([0.        , 2.30258509])"),
    "log2": ("[1.0, 10.0]", "array([0.        , 3.32192809])"),
    "log10": ("[1.0, 10.0]", "array([0., 1.])"),
    "log1p": ("[0.0, 0.5]", "array([0.        , 0.40546511])"),
    "sinh": ("[0.0, 0.5]", "array([0.        , 0.52109531])"),
    "cosh": ("[0.0, 0.5]", "array([1.        , 1.12762597])"),
    "tanh": ("[0.0, 0.5]", "array([0.        , 0.46211716])"),
    "arcsinh": ("[0.0, 0.5]", "array([0.        , 0.48121183])"),
    "arccosh": ("[1.0, 2.0]", "array([0.       , 1.3169579])"),
    "arctanh": ("[0.0, 0.5]", "array([0.        , 0.54930614])"),
    "and_": ("[1, 3], [2, 2]", "array([0, 2])"),
    "or_": ("[1, 3], [2, 2]", "array([3, 3])"),
    "xor": ("[1, 3], [2, 2]", "array([3, 1])"),
    "invert": ("[0, 1, 5]", "array([-1, -2, -6])"),
    "sigmoid": ("[-1000.0, 0.0, 1000.0]", "array([0. , 0.5, 1. ])"),
    "softplus": ("[-1000.0, 0.0, 1000.0]", "array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])"),
    "pow": ("[2.0, 3.0], 2", "array([4., 9.])"),
    "sqrt": ("[1.0, 4.0, 8.0]", "array([1.        , 2.        , 2.82842712])"),
    "floor": ("[-1.5, 0.5, 2.0]", "array([-2.,  0.,  2.])"),
    "ceil": ("[-1.5, 0.5, 2.0]", "array([-1.,  1.,  2.])"),
    "trunc": ("[-1.5, 0.5, 2.0]", "array([-1.,  0.,  2.])"),
    "round_half_to_even": ("[0.5, 1.5, 2.5]", "array([0., 2., 2.])"),
    "round_half_away_from_zero": ("[0.5, 1.5, 2.5]", "array([1., 2., 3.])"),
    "maximum": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([2., 4., 9.])"),
    "minimum": ("[1.0, 4.0, 9.0], [2.0, 4.0, 3.0]", "array([1., 4., 3.])"),
    "clip": ("[-1.0, 0.5, 2.0], 0.0, 1.0", "array([0. , 0.5, 1. ])"),
    "switch": ("[True, False], [1.0, 2.0], 0.0", "array([1., 0.])"),
    "second": ("[1.0, 2.0], 0.0", "array([0., 0.], dtype=float32)"),
    "tensor_copy": ("[0.0, 0.5]", "array([0. , 0.5])"),
    "sin": ("[0.0, 0.5]", "array([0.        , 0.47942554])"),
    "cos": ("[0.0, 0.5]", "array([1.        , 0.87758256])"),
    "tan": ("[0.0, 0.5]", "array([0.        , 0.54630249])"),
    "arcsin": ("[0.0, 0.5]", "array([0.        , 0.52359878])"),
    "arccos": ("[0.0, 0.5]", "array([1.57079633, 1.04719755])"),
    "arctan": ("[0.0, 0.5]", "array([0.        , 0.46364761])"),
    "arctan2": ("[1.0, -1.0], [1.0, 1.0]", "array([ 0.78539816, -0.78539816])"),
    "j0": ("[0.0, 0.5]", "array([1.        , 0.93846981])"),
    "j1": ("[0.0, 0.5]", "array([0.        , 0.24226846])"),
    "jv": ("1.0, [0.0, 1.0]", "array([0.        , 0.44005059])"),
    "i0": ("[0.0, 0.5]", "array([1.        , 1.06348337])"),
    "i1": ("[0.0, 0.5]", "array([0.        , 0.25789431])"),
    "iv": ("1.0, [0.0, 1.0]", "array([0.       , 0.5651591])"),
    "erf": ("[0.0, 0.5]", "array([0.        , 0.52049988])"),
    "erfc": ("[0.0, 0.5]", "array([1.        , 0.47950012])"),
    "erfcx": ("[0.0, 0.5]", "array([1.        , 0.61569034])"),
    "erfinv": ("[0.0, 0.5]", "array([0.        , 0.47693628])"),
    "erfcinv": ("[0.5, 1.0]", "array([ 0.47693628, -0.        ])"),
    "gamma": ("[1.0, 5.0]", "array([ 1., 24.])"),
    "gammaln": ("[1.0, 5.0]", "array([0.        , 3.17805383])"),
    "psi": ("[1.0, 2.0]", "array([-0.57721566,  0.42278434])"),
    "tri_gamma": ("[1.0, 2.0]", "array([1.64493407, 0.64493407])"),
    "gammainc": ("2.0, [0.5, 1.0]", "array([0.09020401, 0.26424112])"),
    "gammaincc": ("2.0, [0.5, 1.0]", "array([0.90979599, 0.73575888])"),
    "gammal": ("2.0, [0.5, 1.0]", "array([0.09020401, 0.26424112])"),
    "gammau": ("2.0, [0.5, 1.0]", "array([0.90979599, 0.73575888])"),
    "chi2sf": ("[1.0, 2.0], 2.0", "array([0.60653066, 0.36787944])"),
    "betainc": ("2.0, 3.0, [0.25, 0.5]", "array([0.26171875, 0.6875    ])"),
    "betaln": ("[1.0, 2.0], 3.0", "array([-1.09861229, -2.48490665])"),
    "gammaincinv": ("2.0, [0.5, 0.75]", "array([1.67834699, 2.69263453])"),
    "gammainccinv": ("2.0, [0.5, 0.75]", "array([1.67834699, 0.96127876])"),
    "betaincinv": ("2.0, 3.0, [0.25, 0.5]", "array([0.24302208, 0.38572757])"),
    "ive": ("1.0, [0.0, 1.0]", "array([0.        , 0.20791042])"),
    "kve": ("1.0, [0.5, 1.0]", "array([2.73100971, 1.63615349])"),
    "zeta": ("2.0, [1.0, 2.0]", "array([1.64493407, 0.64493407])"),
    "owens_t": ("[0.5, 1.0], 2.0", "array([0.1415806 , 0.07846819])"),
    "hyp2f1": ("1.0, 2.0, 3.0, [0.0, 0.5]", "array([1.        , 1.54517744])"),
}


def described(name: str, op: ScalarOp) -> str:
    """Return the docstring of the function that applies a scalar op to each element.

    Parameters
    ----------
    name : str
        Name of the function in `theano.tensor`.
    op : ScalarOp
    """
    words = words_of(op)
    alone = len(words) == 1 and words != ANY_NUMBER
    shape = f"In the shape of `{words[0]}`." if alone else "In the shape to which the operands broadcast."
    parts = [
        f"{(type(op).__doc__ or '').rstrip()}\n",
        f"Parameters\n----------\n{', '.join(words)} : tensor_like\nname : str, optional\n    Name of the result.\n",
        f"Returns\n-------\nTensor\n    {shape}",
    ]
    if name in EXAMPLES:
        arguments, printed = EXAMPLES[name]
        example = f">>> import theano.tensor as T\n>>> T.{name}({arguments}).eval()\n{printed}"
        parts.append(f"\nExamples\n--------\n{example}")
    return "\n".join(parts)
