"""Which arrays a kernel writes to, as far as its text tells."""

from __future__ import annotations

import re
from functools import lru_cache

from .._form import KernelText

__all__ = ["written_arrays"]

_HEAD = re.compile(r"^KERNEL (?:SINGLE_ITEM )?void \w+\(([^)]*)\) \{$", re.MULTILINE)
#: What stands before an address that is only loaded from, or that is dereferenced at once; and what stands behind one
#: that is stored to, which may be in parentheses, or behind one of which a part may be.
_CONST = re.compile(r"\(GLOBAL_MEM const \w+ \*\)\($")
_PLACE = re.compile(r"(?<![&+\-])(?<!&\()\*\(GLOBAL_MEM \w+ \*\)\($")
_ASSIGNED = re.compile(r"[\s)]*(?:[-+*/%&|^]|<<|>>)?=(?!=)|[\s)]*\+\+|[\s)]*--|[\s)]*[.\[]")


@lru_cache(maxsize=4096)
def written_arrays(text: KernelText) -> tuple[bool, ...]:
    r"""Tell for each pointer among the parameters of a kernel whether the kernel may write to what it points to.

    Parameters
    ----------
    text : KernelText

    Returns
    -------
    tuple of bool
        False where what it points to is const, or where each use of it loads an element; else True.

    Examples
    --------
    >>> written_arrays(KernelText("k", "KERNEL void k(GLOBAL_MEM const float *x, GLOBAL_MEM float *y) {\n}\n", "PP"))
    (False, True)
    """
    head = _HEAD.search(text.text)
    pointers = [p for p in head.group(1).split(", ") if "*" in p] if head is not None else []
    if head is None or len(pointers) != text.parameters.count("P"):
        return (True,) * text.parameters.count("P")
    body = text.text[head.end() :]
    return tuple("const " not in p.partition("*")[0] and _is_written(re.split(r"\W+", p)[-1], body) for p in pointers)


def _is_written(name: str, body: str) -> bool:
    uses = list(re.finditer(rf"\b{name}\b", body))
    return not uses or any(not _is_load(body, use.start()) for use in uses)


def _is_load(body: str, start: int) -> bool:
    """Tell whether an address that begins somewhere is one that an element is loaded from."""
    line = body[body.rfind("\n", 0, start) + 1 : start]
    if _CONST.search(line):
        return True
    if not _PLACE.search(line):
        return False
    depth, at = 1, start
    while depth and at < len(body):
        depth += {"(": 1, ")": -1}.get(body[at], 0)
        at += 1
    return _ASSIGNED.match(body, at) is None
