"""Windows that slide over images, on devices: convolutions and pooling."""

from . import _convolution as _convolution, _pooling as _pooling

__all__: list[str] = []
