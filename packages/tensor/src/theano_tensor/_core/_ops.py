"""Ops with one result that is a tensor: what type checkers know of calling one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theano_graph import Op

if TYPE_CHECKING:
    from ._variable import Tensor

    class TensorOp(Op):
        """An op that gives one tensor when it is called. When programs run, this is :class:`Op` itself."""

        def __call__(self, *inputs: Any, **kwargs: Any) -> Tensor: ...

else:
    TensorOp = Op
