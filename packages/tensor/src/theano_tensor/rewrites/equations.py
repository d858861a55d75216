"""The language of rules that are equations, for programs: terms, wildcards, and the decorator of a rule.

>>> import theano_tensor as T
>>> sqrt, sqr, hypot = term(T.sqrt), term(T.sqr), term(T.hypot)
>>> @equation_rewriter(T.sqrt)
... def hypotenuse(x: Real, y: Real) -> Equations:
...     return [sqrt(sqr(x) + sqr(y)) >> hypot(x, y)]
>>> print(*hypotenuse.equations)
sqrt(sqr(x) + sqr(y)) -> hypot(x, y)
"""

from ._equations import (
    Anything as Anything,
    Equations as Equations,
    Number as Number,
    Real as Real,
    RealNumber as RealNumber,
    Whole as Whole,
    equation_rewriter as equation_rewriter,
    term as term,
)
from ._terms import built as built, wide as wide

__all__ = [
    "Anything",
    "Equations",
    "Number",
    "Real",
    "RealNumber",
    "Whole",
    "built",
    "equation_rewriter",
    "term",
    "wide",
]
