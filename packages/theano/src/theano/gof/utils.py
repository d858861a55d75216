"""Helpers on sequences, files and stacks."""

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

__all__ = [
    "MethodNotDefined",
    "add_tag_trace",
    "deprecated",
    "difference",
    "flatten",
    "hash_from_file",
    "memoize",
    "remove",
    "simple_extract_stack",
    "toposort",
    "uniq",
]
