"""Helpers on sequences, files and stacks."""

import hashlib

from theano_graph import MissingRuleError as MethodNotDefined
from theano_graph.utils import (
    add_tag_trace as add_tag_trace,
    deprecated as deprecated,
    difference as _difference,
    flatten as _flatten,
    hash_from_file as _hash_from_file,
    memoize as _memoize,
    remove as _remove,
    simple_extract_stack as simple_extract_stack,
    toposort as _toposort,
    uniq as _uniq,
)

from .._keywords import also_called

difference = also_called(__name__, "difference", _difference, seq1="first", seq2="second")
flatten = also_called(__name__, "flatten", _flatten, a="value")
hash_from_file = also_called(__name__, "hash_from_file", _hash_from_file, file_path="path")
memoize = also_called(__name__, "memoize", _memoize, f="function")
remove = also_called(__name__, "remove", _remove, coll="items")
toposort = also_called(__name__, "toposort", _toposort, prereqs_d="prerequisites")
uniq = also_called(__name__, "uniq", _uniq, seq="items")


def hashtype(self: object) -> int:
    """Return a number for the class of an object: for `__hash__` of ops without parameters."""
    return hash((type(self).__module__, type(self).__qualname__))


def hash_from_code(msg: str | bytes) -> str:
    """Return a digest of code.

    Examples
    --------
    >>> hash_from_code("x") == hash_from_code(b"x")
    True
    """
    return hashlib.sha256(msg.encode() if isinstance(msg, str) else msg).hexdigest()


__all__ = [
    "MethodNotDefined",
    "add_tag_trace",
    "deprecated",
    "difference",
    "flatten",
    "hash_from_code",
    "hash_from_file",
    "hashtype",
    "memoize",
    "remove",
    "simple_extract_stack",
    "toposort",
    "uniq",
]
