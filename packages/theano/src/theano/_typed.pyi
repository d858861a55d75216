"""Types of what type checkers and editors should know more about than the layer can say that owns it.

`function` and `shared` belong to a layer that knows no tensors, and the flags of `config` are declared by every layer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from theano_graph import Op as _Op, Variable
from theano_linker_c import Function, Mode, ProfileStats, SharedVariable
from theano_sparse import SparseSharedVariable
from theano_tensor import Outputs, Tensor, TensorSharedVariable
from theano_tensor.random import RandomStateSharedVariable

from ._flags import Flags

config: Flags

_TensorT = TypeVar("_TensorT", bound=Tensor)
_Updates: TypeAlias = Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None
_Givens: TypeAlias = Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None

class Op(_Op):
    """An op of a program: what calls return are tensors."""

    @overload
    def __call__(
        self, *inputs: Any, name: str | None = None, return_list: Literal[True], **kwargs: Any
    ) -> list[Tensor]: ...
    @overload
    def __call__(self, *inputs: Any, name: str | None = None, return_list: bool = False, **kwargs: Any) -> Outputs: ...

class _SparseMatrix(Protocol):
    def tocsr(self) -> Any: ...
    def tocsc(self) -> Any: ...

@overload
def function(
    inputs: Sequence[Any],
    outputs: Tensor,
    mode: str | Mode | None = None,
    updates: _Updates = None,
    givens: _Givens = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | ProfileStats | None = None,
    on_unused_input: str | None = None,
) -> Function[NDArray[Any]]: ...
@overload
def function(
    inputs: Sequence[Any],
    outputs: list[_TensorT] | tuple[_TensorT, ...],
    mode: str | Mode | None = None,
    updates: _Updates = None,
    givens: _Givens = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | ProfileStats | None = None,
    on_unused_input: str | None = None,
) -> Function[list[NDArray[Any]]]: ...
@overload
def function(
    inputs: Sequence[Any],
    outputs: Mapping[str, _TensorT],
    mode: str | Mode | None = None,
    updates: _Updates = None,
    givens: _Givens = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | ProfileStats | None = None,
    on_unused_input: str | None = None,
) -> Function[dict[str, NDArray[Any]]]: ...
@overload
def function(
    inputs: Sequence[Any],
    outputs: list[Any] | tuple[Any, ...] | None = None,
    mode: str | Mode | None = None,
    updates: _Updates = None,
    givens: _Givens = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | ProfileStats | None = None,
    on_unused_input: str | None = None,
) -> Function[list[Any]]: ...
@overload
def function(
    inputs: Sequence[Any],
    outputs: Mapping[str, Any],
    mode: str | Mode | None = None,
    updates: _Updates = None,
    givens: _Givens = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | ProfileStats | None = None,
    on_unused_input: str | None = None,
) -> Function[dict[str, Any]]: ...
@overload
def function(
    inputs: Sequence[Any],
    outputs: Any,
    mode: str | Mode | None = None,
    updates: _Updates = None,
    givens: _Givens = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | ProfileStats | None = None,
    on_unused_input: str | None = None,
) -> Function[Any]: ...
@overload
def shared(
    value: NDArray[Any],
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    *,
    borrow: bool = False,
    target: str = "cpu",
    broadcastable: Iterable[bool] | None = None,
) -> TensorSharedVariable: ...
@overload
def shared(
    value: complex | np.generic,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    *,
    borrow: bool = False,
    target: str = "cpu",
) -> TensorSharedVariable: ...
@overload
def shared(
    value: np.random.RandomState | np.random.Generator,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    *,
    borrow: bool = False,
) -> RandomStateSharedVariable: ...
@overload
def shared(
    value: _SparseMatrix,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    *,
    borrow: bool = False,
    target: str = "cpu",
) -> SparseSharedVariable: ...
@overload
def shared(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    **kwargs: Any,
) -> SharedVariable: ...
