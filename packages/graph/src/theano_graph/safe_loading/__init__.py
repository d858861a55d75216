"""Loading pickles without trusting them: a closed vocabulary, and an interpreter that knows no other word.

A layer that has classes which archives may hold announces a module with :func:`theano_graph.announce_words`; its
function `words` yields a :class:`Word` for each. What no layer has a word for is refused.
"""

from .._modules import UnsafeArchiveError as UnsafeArchiveError
from ._objects import (
    VARIABLE_CHECKS as VARIABLE_CHECKS,
    EnumForm as EnumForm,
    ObjectForm as ObjectForm,
    RecordForm as RecordForm,
    is_bool as is_bool,
    is_int as is_int,
    is_text as is_text,
    tuple_of as tuple_of,
    verify_graphs as verify_graphs,
)
from ._reader import Limits as Limits, Pending as Pending, Reader as Reader, damaged as damaged
from ._vocabulary import (
    FORMS as FORMS,
    LEAVES as LEAVES,
    ClassWord as ClassWord,
    Contents as Contents,
    Form as Form,
    Function as Function,
    UnusedForm as UnusedForm,
    Value as Value,
    Vocabulary as Vocabulary,
    Word as Word,
    class_words as class_words,
    refused as refused,
    vocabulary as vocabulary,
)
from .words import NodeForm as NodeForm, verify_all as verify_all

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
