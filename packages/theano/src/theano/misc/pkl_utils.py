"""Saving objects so that NumPy alone can read the arrays in them."""

from theano_linker_c.archive import (
    CompatUnpickler as CompatUnpickler,
    PersistentNdarrayID as PersistentNdarrayID,
    PersistentNdarrayLoad as PersistentNdarrayLoad,
    PersistentSharedVariableID as PersistentSharedVariableID,
    StripPickler as StripPickler,
    UnsafeArchiveError as UnsafeArchiveError,
    dump as dump,
    load as load,
)

__all__ = [
    "CompatUnpickler",
    "PersistentNdarrayID",
    "PersistentNdarrayLoad",
    "PersistentSharedVariableID",
    "StripPickler",
    "UnsafeArchiveError",
    "dump",
    "load",
]
