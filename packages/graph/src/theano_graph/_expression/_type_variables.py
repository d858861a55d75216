"""What a node is generic over, for type checkers: the class of its op and the class of its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    # Python has defaults of type variables from 3.13 on; checkers know them without the package.
    import typing_extensions

    from ._nodes import Variable
    from ._op import PureOp

    OpT = typing_extensions.TypeVar("OpT", bound=PureOp, covariant=True, default=Any)
    VariableT = typing_extensions.TypeVar("VariableT", bound=Variable, covariant=True, default=Any)
else:
    OpT = TypeVar("OpT", covariant=True)
    VariableT = TypeVar("VariableT", covariant=True)
