"""Helpers, and errors of test values."""

from theano_graph import MissingTestValueError as TestValueError

from ..gof.utils import (
    MetaObject as MetaObject,
    MethodNotDefined as MethodNotDefined,
    add_tag_trace as add_tag_trace,
    difference as difference,
    flatten as flatten,
    get_variable_trace_string as get_variable_trace_string,
    hash_from_code as hash_from_code,
    hash_from_file as hash_from_file,
    memoize as memoize,
    object2 as object2,
    remove as remove,
    scratchpad as scratchpad,
    simple_extract_stack as simple_extract_stack,
    toposort as toposort,
    uniq as uniq,
)

__all__ = [
    "MetaObject",
    "MethodNotDefined",
    "TestValueError",
    "add_tag_trace",
    "difference",
    "flatten",
    "get_variable_trace_string",
    "hash_from_code",
    "hash_from_file",
    "memoize",
    "object2",
    "remove",
    "scratchpad",
    "simple_extract_stack",
    "toposort",
    "uniq",
]
