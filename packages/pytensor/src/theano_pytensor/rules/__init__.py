"""The rules, by subject; importing this registers all of them."""

from . import (
    _blockwise as _blockwise,
    _control as _control,
    _convolution as _convolution,
    _creation as _creation,
    _elemwise as _elemwise,
    _extra as _extra,
    _indexing as _indexing,
    _linear as _linear,
    _lists as _lists,
    _random as _random,
    _scalars as _scalars,
    _scan as _scan,
    _shapes as _shapes,
    _sparse as _sparse,
)
