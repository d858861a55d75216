"""Names by which programs for Python 2 and 3 alike found what is built in now."""

import operator
from collections import (
    Counter as Counter,
    OrderedDict as OrderedDict,
    defaultdict as defaultdict,
    deque as deque,
)
from collections.abc import Iterable
from functools import partial as partial
from itertools import product as product

from . import six as six

PY3 = True

python_all = all
python_any = any
izip = zip
imap = map
ifilter = filter
operator_div = operator.truediv

#: Sets and dictionaries keep the order in which things were put in.
DefaultOrderedDict = defaultdict


def exc_message(e: BaseException) -> object:
    """Return what an exception was raised with: its only argument, or all of them."""
    return e.args[0] if len(e.args) == 1 else e.args


def cmp(a: float, b: float) -> int:
    """Return -1, 0 or 1 for `a` below, equal to or above `b`."""
    return (a > b) - (a < b)


def decode(x: bytes | str) -> str:
    """Return bytes as text in UTF-8, and text as it is."""
    return x.decode() if isinstance(x, bytes) else x


def decode_iter(items: Iterable[bytes | str]) -> Iterable[str]:
    """Decode each of `items`."""
    return map(decode, items)


__all__ = [
    "PY3",
    "Counter",
    "DefaultOrderedDict",
    "OrderedDict",
    "cmp",
    "decode",
    "decode_iter",
    "defaultdict",
    "deque",
    "exc_message",
    "ifilter",
    "imap",
    "izip",
    "operator_div",
    "partial",
    "product",
    "python_all",
    "python_any",
    "six",
]
