"""C code that users' ops and types bring along: its contract, and how it is compiled and run."""

from .._c_interface import (
    ArrayInterface as ArrayInterface,
    CLinkerType as CLinkerType,
    ScalarInterface as ScalarInterface,
)
from ._enums import CDataType as CDataType, CEnumType as CEnumType, EnumList as EnumList, EnumType as EnumType
from ._external import (
    COp as COp,
    RegisteredCodeOp as RegisteredCodeOp,
    TypeCode as TypeCode,
    TypeCodeTable as TypeCodeTable,
)
from ._node_code import c_interface as c_interface, version_of as version_of
from ._openmp import OpenMPOp as OpenMPOp, blas_arguments as blas_arguments, blas_declarations as blas_declarations
from ._params import Params as Params, ParamsType as ParamsType
from ._units import (
    CThunk as CThunk,
    NoCompilerError as NoCompilerError,
    ThunkLibrary as ThunkLibrary,
    c_thunk as c_thunk,
    c_thunks as c_thunks,
    library as library,
    needs_c_code as needs_c_code,
    offers_c_code as offers_c_code,
    run_c_code as run_c_code,
    storage_thunk as storage_thunk,
)

__all__ = [
    "ArrayInterface",
    "CDataType",
    "CEnumType",
    "CLinkerType",
    "COp",
    "CThunk",
    "EnumList",
    "EnumType",
    "NoCompilerError",
    "OpenMPOp",
    "Params",
    "ParamsType",
    "RegisteredCodeOp",
    "ScalarInterface",
    "ThunkLibrary",
    "TypeCode",
    "TypeCodeTable",
    "blas_arguments",
    "blas_declarations",
    "c_interface",
    "c_thunk",
    "c_thunks",
    "library",
    "needs_c_code",
    "offers_c_code",
    "run_c_code",
    "storage_thunk",
    "version_of",
]
