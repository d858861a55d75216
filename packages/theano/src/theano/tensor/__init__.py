"""The tensor language: `import theano.tensor as T`.

Every name is one of `theano_tensor`; its documentation is there.
"""

from typing import TYPE_CHECKING

from theano_tensor.io import (
    LoadFromDisk as LoadFromDisk,
    MPIRecv as MPIRecv,
    MPIRecvWait as MPIRecvWait,
    MPISend as MPISend,
    MPISendWait as MPISendWait,
    irecv as irecv,
    isend as isend,
    load as load,
    mpi_keys as mpi_keys,
    mpi_send_wait_key as mpi_send_wait_key,
    mpi_tag_key as mpi_tag_key,
    recv as recv,
    send as send,
)

from .._names import FROM_TESTING, from_testing, lazy_names
from . import (
    basic as basic,
    blas as blas,
    elemwise as elemwise,
    extra_ops as extra_ops,
    nlinalg as nlinalg,
    nnet as nnet,
    opt as opt,
    shared_randomstreams as shared_randomstreams,
    sharedvar as sharedvar,
    slinalg as slinalg,
    subtensor as subtensor,
    type as type,
)
from ._historical import (
    key_to_cmp as key_to_cmp,
    mpi_cmps as mpi_cmps,
    mpi_enabled as mpi_enabled,
    mpi_send_wait_cmp as mpi_send_wait_cmp,
    mpi_tag_cmp as mpi_tag_cmp,
)
from .var import _tensor_py_operators as _tensor_py_operators

# isort: split
# The modules `sort` and `var` stay importable, yet these names are functions here: the last import wins.
from .basic import *

_shared = sharedvar.tensor_constructor

#: Module -> the names that it has, and that are imported when they are asked for.
_LAZY = {
    **basic._LAZY,
    ".": "blas_c blas_scipy fourier signal type_other",
    "._index_tools": (
        "MakeSlice NoneConst NoneTypeT SliceConstant SliceType as_int_none_variable make_slice none_type_t slicetype"
    ),
}

if TYPE_CHECKING:
    import theano as theano
    from theano import compile as compile, config as config, gof as gof, printing as printing
    from theano_linker_c.cop import ParamsType as ParamsType
    from theano_testing.tensor import verify_grad as verify_grad

    from .. import scalar as scal  # noqa: F401 - the name that it had here
    from ..gof.utils import MethodNotDefined as MethodNotDefined
    from ..printing import min_informative_str as min_informative_str, pprint as pprint
    from . import (
        fft as fft,
        inplace as inplace,
        io as io,
        raw_random as raw_random,
        signal as signal,
        xlogx as xlogx,
    )
    from ._index_tools import (
        MakeSlice as MakeSlice,
        NoneConst as NoneConst,
        NoneTypeT as NoneTypeT,
        SliceConstant as SliceConstant,
        SliceType as SliceType,
        as_int_none_variable as as_int_none_variable,
        make_slice as make_slice,
        none_type_t as none_type_t,
        slicetype as slicetype,
    )
    from ._old_ops import (
        Default as Default,
        Mean as Mean,
        PermuteRowElements as PermuteRowElements,
        Tile as Tile,
        Tri as Tri,
        default as default,
        permute_row_elements as permute_row_elements,
        setdefault as setdefault,
    )
    from .type import values_eq_approx_always_true as values_eq_approx_always_true
else:
    _find, _names = lazy_names(__name__, __package__, _LAZY)

    def __getattr__(name: str) -> object:
        """Look up a name that is imported on first use; a star import asks for all public ones."""
        if name == "__all__":
            return __dir__()
        if name in FROM_TESTING:
            return from_testing(__name__, name)
        return _find(name)

    def __dir__() -> list[str]:
        """Return the public names, also the ones that are imported on first use."""
        return sorted({*_names(), *FROM_TESTING})
