"""Arguments of convolutions that name ways of computing: which of them exist, and the dtypes that they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from theano_gpuarray.dnn_flags import PRECISIONS
from theano_graph import config, format_error
from theano_linker_c.scalar import upcast

CONV_MODES = ("conv", "cross")


def one_of(where: str, name: str, value: object, known: Sequence[str | None]) -> None:
    """Raise ValueError if an argument has a value that is not known."""
    if value not in known:
        raise ValueError(
            format_error(f"{where}: unknown {name} {value!r}", hint="use one of " + ", ".join(map(repr, known)))
        )


def working_dtype(where: str, precision: str | None, *dtypes: str) -> str:
    """Return the dtype in which a convolution of operands of some dtypes is computed.

    Raises
    ------
    ValueError
        If `precision` is unknown.
    """
    chosen = config.dnn.conv.precision if precision is None else precision
    one_of(where, "precision", chosen, PRECISIONS)
    dtype: str = upcast(*dtypes)
    if chosen == "as_input":
        return dtype
    if chosen == "as_input_f32":
        return "float32" if dtype == "float16" else dtype
    return str(chosen)
