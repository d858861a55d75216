"""How elementwise functions are called, for readers, editors, and errors about wrong keywords."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from theano_graph import format_error

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
