"""Helpers on sequences, files and stacks."""

import hashlib
from typing import TYPE_CHECKING

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

from .._names import also_called, lazy_names

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
    >>> from theano.gof import utils
    >>> utils.hash_from_code("x") == utils.hash_from_code(b"x")
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

if TYPE_CHECKING:
    from theano_graph import config as config

    from .._compat import PY3 as PY3
    from ._historical_utils import (
        ABORT as ABORT,
        ANY_TYPE as ANY_TYPE,
        FAILURE as FAILURE,
        FALL_THROUGH as FALL_THROUGH,
        RETRY as RETRY,
        D as D,
        Keyword as Keyword,
        MetaObject as MetaObject,
        c_cpp_keywords as c_cpp_keywords,
        comm_guard as comm_guard,
        from_return_values as from_return_values,
        get_variable_trace_string as get_variable_trace_string,
        give_variables_names as give_variables_names,
        hist as hist,
        integer_types as integer_types,
        object2 as object2,
        scratchpad as scratchpad,
        simple_types as simple_types,
        string_types as string_types,
        to_return_values as to_return_values,
        type_guard as type_guard,
        undef as undef,
        unique as unique,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "._historical_utils": (
                "ABORT ANY_TYPE D FAILURE FALL_THROUGH Keyword MetaObject RETRY c_cpp_keywords comm_guard "
                "from_return_values get_variable_trace_string give_variables_names hist integer_types object2 "
                "scratchpad simple_types string_types to_return_values type_guard undef unique"
            ),
            "theano_graph": "config",
            ".._compat": "PY3",
        },
    )
