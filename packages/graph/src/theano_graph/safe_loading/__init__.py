"""Loading pickles without trusting them: a closed vocabulary, and an interpreter that knows no other word.

A layer that has classes which archives may hold announces a module with :func:`theano_graph.announce_words`; its
function `words` yields a :class:`Word` for each. A name for which no layer has a word is refused.
"""

from .._modules import UnsafeArchiveError
from ._objects import (
    VARIABLE_CHECKS,
    EnumForm,
    ObjectForm,
    RecordForm,
    is_bool,
    is_int,
    is_text,
    tuple_of,
    verify_graphs,
)
from ._reader import Limits, Pending, Reader, damaged
from ._vocabulary import (
    FORMS,
    LEAVES,
    ClassWord,
    Contents,
    Form,
    Function,
    UnusedForm,
    Value,
    Vocabulary,
    Word,
    class_words,
    refused,
    vocabulary,
)
from .words import NodeForm, verify_all

__all__ = [
    "FORMS",
    "LEAVES",
    "VARIABLE_CHECKS",
    "ClassWord",
    "Contents",
    "EnumForm",
    "Form",
    "Function",
    "Limits",
    "NodeForm",
    "ObjectForm",
    "Pending",
    "Reader",
    "RecordForm",
    "UnsafeArchiveError",
    "UnusedForm",
    "Value",
    "Vocabulary",
    "Word",
    "class_words",
    "damaged",
    "is_bool",
    "is_int",
    "is_text",
    "refused",
    "tuple_of",
    "verify_all",
    "verify_graphs",
    "vocabulary",
]
