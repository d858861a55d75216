"""The flags about devices."""

from __future__ import annotations

import os
import re
from typing import Any

from theano_graph import BoolFlag, EnumFlag, FlagKind, FloatFlag, StrFlag, add_flag, config

_DEVICE = re.compile(r"cpu|gpu\d*|cuda\d*|opencl(\d+:\d+)?|null\d*")


class DeviceFlag(StrFlag):
    """The name of a device.

    Parameters
    ----------
    default : str
    empty : bool
        Whether no device may be named.
    """

    def __init__(self, default: str, empty: bool = False) -> None:
        super().__init__(default, lambda name: bool(_DEVICE.fullmatch(name)) or (empty and not name))
        self.allowed = "'cpu', 'cuda', 'cuda0', 'cuda1', ..., 'opencl0:0', ..., in lower case" + (
            ", or nothing" if empty else ""
        )


def parse_contexts(text: str) -> dict[str, str]:
    """Return the devices that the flag ``contexts`` maps names to.

    Parameters
    ----------
    text : str
        ``name->device``, separated by semicolons.

    Raises
    ------
    ValueError
        If it is not of this form, a name is empty, stands twice or begins with ``cuda`` or ``opencl``, or a device is
        none that a flag may name.

    Examples
    --------
    >>> from theano_gpuarray._flags import parse_contexts
    >>> parse_contexts("dev0->cuda0; dev1->opencl0:0")
    {'dev0': 'cuda0', 'dev1': 'opencl0:0'}
    """
    contexts: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, arrow, device = (piece.strip() for piece in part.partition("->"))
        if not arrow or not name or "->" in device or name in contexts or name.startswith(("cuda", "opencl")):
            raise ValueError(part)
        if device.startswith(("cpu", "gpu")) or not _DEVICE.fullmatch(device):
            raise ValueError(part)
        contexts[name] = device
    return contexts


class ContextsFlag(StrFlag):
    """A map of names to devices."""

    allowed = (
        "'name->device' separated by semicolons: each name once, none beginning with 'cuda' or 'opencl', "
        "devices as 'cuda0' or 'opencl0:0'"
    )

    def parse(self, value: object) -> str:
        """Return the text, which must be of the form."""
        text = super().parse(value)
        parse_contexts(text)
        return text


def _cache_path() -> str:
    return os.path.join(str(config.compiledir), "gpuarray_kernels")


#: Flags that count when contexts are opened, most of them at import only.
_AT_START: tuple[tuple[str, str, FlagKind[Any]], ...] = (
    ("device", "Where functions run by default: 'cpu', or a device.", DeviceFlag("cpu")),
    (
        "force_device",
        """Whether a device that cannot be used is an error; otherwise there is a warning, and 'cpu' is used. \
With device=cpu: whether no device is opened at all.""",
        BoolFlag(False),
    ),
    (
        "init_gpu_device",
        "A device to prepare, on which nothing runs by default; `device` has to be 'cpu'.",
        DeviceFlag("", empty=True),
    ),
    ("contexts", "Names of devices: ``name->device``, separated by semicolons.", ContextsFlag("")),
    ("print_active_device", "Whether to name each device on stderr when it is opened.", BoolFlag(True)),
    (
        "gpuarray.preallocate",
        """Memory that is taken from a device when it is opened: up to 1 a share of it (.95 at most), above 1 so \
many MB; 0: memory is kept for later once it was used; below 0: it is not kept.""",
        FloatFlag(0.0),
    ),
    (
        "gpuarray.sched",
        "How the CPU waits for a CUDA device: 'multi' lets other threads run meanwhile.",
        EnumFlag("default", "multi", "single"),
    ),
    (
        "gpuarray.single_stream",
        "Whether a device does one thing after the other; false: on CUDA independent work runs side by side.",
        BoolFlag(True),
    ),
    (
        "gpuarray.library_path",
        "Folders in which libraries of devices are looked for first, separated as in PATH.",
        StrFlag(""),
    ),
    ("gpuarray.cache_path", "Folder in which compiled kernels of devices are kept.", StrFlag(_cache_path)),
    ("cuda.root", "Folder of an installation of CUDA, looked at before CUDA_HOME.", StrFlag("")),
    ("cuda.include_path", "Folder of the headers of CUDA, for kernels that include some.", StrFlag("")),
    (
        "dnn.enabled",
        "Whether cuDNN is looked for: 'True' makes it an error that a CUDA device is opened and it is not there.",
        EnumFlag("auto", "True", "False", "no_check"),
    ),
    ("dnn.base_path", "Folder of an installation of cuDNN.", StrFlag("")),
    ("dnn.include_path", "Folder of the headers of cuDNN, for programs that compile with them.", StrFlag("")),
    ("dnn.library_path", "Folder of the library of cuDNN.", StrFlag("")),
    ("dnn.bin_path", "Folder of the library of cuDNN on Windows.", StrFlag("")),
)

for _name, _doc, _kind in _AT_START:
    add_flag(_name, _doc, _kind, fixed=_name in ("device", "force_device", "init_gpu_device", "contexts"))
add_flag(
    "gpuarray.tf32",
    """Whether cuBLAS may round float32 to 11 bits of precision before it multiplies matrices, which is several times \
as fast; read in each call.""",
    BoolFlag(False),
)
add_flag(
    "deterministic",
    """'more' prefers implementations that always give the same result: on devices sums by index in a fixed order, and \
algorithms of cuDNN that do; read where a function meets shapes for the first time. The CPU always does.""",
    EnumFlag("default", "more"),
)
add_flag(
    "assert_no_cpu_op",
    "The reaction to an op of a function for a device that stays on the CPU.",
    EnumFlag("ignore", "warn", "raise", "pdb"),
)
add_flag(
    "experimental.unpickle_gpu_on_cpu",
    "Whether pickled arrays of devices are read as NumPy arrays where their device is not there.",
    BoolFlag(False),
)
add_flag("nvcc.fastmath", "Whether CUDA kernels are compiled with less exact, faster functions.", BoolFlag(False))
add_flag("nvcc.flags", "Further options for the compiler of CUDA kernels, separated by spaces.", StrFlag(""))
