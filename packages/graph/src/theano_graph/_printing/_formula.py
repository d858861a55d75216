"""Formulas of variables in LaTeX, which notebooks set by MathJax."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._expression._nodes import Apply, Variable
from ._pprint import pprint

_MOST_NODES, _LONGEST = 40, 300
_GREEK = frozenset(
    ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu")
)
_GREEK |= {"xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega"}
_TOKEN = re.compile(r"\w*Constant\{[^{}]*\}|[A-Za-z_]\w*(?:\{[^{}]*\})?|\\dot|\*\*|\d[\w.+-]*|\s+|.", re.DOTALL)
_SIGNS = {"**": "^", "*": r"\cdot ", r"\dot": r"\,", "{": r"\{", "}": r"\}", "%": r"\bmod ", "&": r"\&"}
_SPECIAL = {"_": r"\_", "#": r"\#", "$": r"\$", "%": r"\%", "&": r"\&", "{": r"\{", "}": r"\}", "~": "-", "^": r"\^{}"}


def formula(variable: Variable) -> str | None:
    """Return the expression of a variable in LaTeX, None for one that is not computed, or is long.

    Examples
    --------
    >>> from theano_graph import generic
    >>> print(formula(generic("x")))
    None
    """
    if variable.owner is None or not _is_small(variable):
        return None
    text = pprint(variable)
    if len(text) > _LONGEST or "\n" in text:
        return None
    pieces = list(_pieces(_TOKEN.findall(text)))
    pieces = _with_single_parentheses(["(", *pieces, ")"])[1:-1]
    return "".join(_with_powers(pieces)).strip()


def _is_small(variable: Variable) -> bool:
    """Tell whether a variable is computed by few nodes; looks at no more than these."""
    waiting = [variable]
    seen: set[Apply] = set()
    while waiting and len(seen) <= _MOST_NODES:
        node = waiting.pop().owner
        if node is not None and node not in seen:
            seen.add(node)
            waiting += node.inputs
    return len(seen) <= _MOST_NODES


def _pieces(tokens: list[str]) -> Iterator[str]:
    """Return each token as LaTeX writes it."""
    for token in tokens:
        constant = re.fullmatch(r"\w*Constant\{(.*)\}", token, re.DOTALL)
        if constant is not None:
            yield _plain(constant[1]) if re.search("[A-Za-z_]", constant[1]) else constant[1]
        elif re.match("[A-Za-z_]", token):
            name = token.partition("{")[0]
            yield f"\\{name} " if name in _GREEK else name if len(name) == 1 else _plain(name)
        elif token.isspace():
            yield " "
        else:
            yield _SIGNS.get(token) or _SPECIAL.get(token, token)


def _plain(text: str) -> str:
    return "\\mathrm{" + "".join(_SPECIAL.get(character, character) for character in text) + "}"


def _closing(pieces: list[str], start: int) -> int:
    """Return the position of the parenthesis that closes the one at `start`, -1 where there is none."""
    depth = 0
    for i in range(start, len(pieces)):
        depth += (pieces[i] == "(") - (pieces[i] == ")")
        if depth == 0:
            return i if pieces[i] == ")" else -1
    return -1


def _with_single_parentheses(pieces: list[str]) -> list[str]:
    """Leave out parentheses right inside of others."""
    double: set[int] = set()
    for i in range(len(pieces) - 1):
        if pieces[i] == pieces[i + 1] == "(":
            end = _closing(pieces, i + 1)
            if end + 1 == _closing(pieces, i):
                double |= {i + 1, end}
    return [piece for i, piece in enumerate(pieces) if i not in double]


def _with_powers(pieces: list[str]) -> Iterator[str]:
    """Put the exponents of powers into braces."""
    ends: list[int] = []
    i = 0
    while i < len(pieces):
        if pieces[i] == "^":
            start = i + 1
            while start < len(pieces) - 1 and pieces[start] == " ":
                start += 1
            end = start if pieces[start] != "(" else max(_closing(pieces, start), start)
            if end == start and end + 1 < len(pieces) and pieces[end + 1] == "(":
                end = max(_closing(pieces, end + 1), end)
            yield "^{"
            ends.append(end)
            i = start
            continue
        yield pieces[i]
        while ends and ends[-1] == i:
            ends.pop()
            yield "}"
        i += 1
    yield "}" * len(ends)
