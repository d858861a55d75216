"""Questions about NVIDIA's library of neural networks, which this version does not use."""

from __future__ import annotations

from typing import Any

_NO_LIBRARY = "this version of Theano runs functions on the CPU only"

#: The ways of choosing a convolution that the flags ``dnn.conv.*`` know.
DNN_CONV_ALGO_CHOOSE_ONCE = ["guess_once", "time_once"]
DNN_CONV_ALGO_CHOOSE_TIME = ["time_once", "time_on_shape_change"]


class _Question:
    """A question that is answered with no; `msg` says why."""

    def __init__(self, name: str, doc: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self.avail: bool | None = False
        self.msg: str | None = _NO_LIBRARY

    def __call__(self, context_name: Any = None) -> bool:
        return False


dnn_present = _Question("dnn_present", "Tell whether the library is installed: never; `msg` says why.")
dnn_available = _Question("dnn_available", "Tell whether the library can be used: never; `msg` says why.")


def version(raises: bool = True) -> int:
    """Return the version of the library, or -1.

    Parameters
    ----------
    raises : bool
        Whether it is an error that the library cannot be used.

    Raises
    ------
    RuntimeError
        Unless `raises` is false.
    """
    if raises:
        raise RuntimeError(f"the version of cuDNN is not known: {dnn_available.msg}")
    return -1
