"""Helpers on sequences, files and stacks."""

import hashlib

from theano_graph import MissingRuleError as MethodNotDefined
from theano_graph.utils import (
    add_tag_trace as add_tag_trace,
    deprecated as deprecated,
    difference as difference,
    flatten as flatten,
    hash_from_file as hash_from_file,
    memoize as memoize,
    remove as remove,
    simple_extract_stack as simple_extract_stack,
    toposort as toposort,
    uniq as uniq,
)


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
