"""The common part of ops for neural networks on devices."""

from __future__ import annotations

from ..ops._table import NamedDeviceOp


class DnnBase(NamedDeviceOp):
    """The base of ops for neural networks on devices.

    They are computed by kernels that are generated for the device; no library is needed.
    """

    def __str__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.__props__ or () if name != "host_op"]
        return f"{type(self).__name__}{{{', '.join(shown)}}}"
