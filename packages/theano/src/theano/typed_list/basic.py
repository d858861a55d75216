"""Operations on lists, and their variables."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.typed_list import (
    Append as Append, Count as Count, Extend as Extend, GetItem as GetItem, Index as Index, Insert as Insert,
    Length as Length, MakeList as MakeList, Remove as Remove, Reverse as Reverse,
    TypedListConstant as TypedListConstant, TypedListVariable as TypedListVariable, append as append, count as count,
    extend as extend, getitem as getitem, index_ as index_, insert as insert, length as length, make_list as make_list,
    remove as remove, reverse as reverse,
)
# isort: on
# fmt: on
# End of the names of names.toml.


from .._names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
