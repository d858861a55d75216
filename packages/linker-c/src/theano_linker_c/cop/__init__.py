"""C code that users' ops and types bring along: what is asked of them, and how it is compiled and run."""

from .._c_interface import (
    ArrayInterface as ArrayInterface,
    CLinkerType as CLinkerType,
    ScalarInterface as ScalarInterface,
)
from ._ask import c_interface as c_interface
from ._thunks import (
    CThunk as CThunk,
    NoCompilerError as NoCompilerError,
    c_thunk as c_thunk,
    c_thunks as c_thunks,
    needs_c_code as needs_c_code,
    offers_c_code as offers_c_code,
)
from ._units import ThunkLibrary as ThunkLibrary, library as library

__all__ = [
    "ArrayInterface",
    "CLinkerType",
    "CThunk",
    "NoCompilerError",
    "ScalarInterface",
    "ThunkLibrary",
    "c_interface",
    "c_thunk",
    "c_thunks",
    "library",
    "needs_c_code",
    "offers_c_code",
]
