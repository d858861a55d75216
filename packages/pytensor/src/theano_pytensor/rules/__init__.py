"""The rules, by subject; importing this registers all of them."""

from . import (
    _arrays as _arrays,
    _elemwise as _elemwise,
    _linear as _linear,
    _random as _random,
    _scan as _scan,
    _sparse as _sparse,
)
