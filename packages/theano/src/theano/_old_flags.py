"""Flags of Theano 1.0 for devices, and flags that programs set although nothing here heeds them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from theano_gpuarray.dnn_flags import BACKWARD_DATA, BACKWARD_FILTER, FORWARD, PRECISIONS, RUNTIME
from theano_graph import (
    BoolFlag,
    EnumFlag,
    FlagKind,
    FloatFlag,
    IntFlag,
    StrFlag,
    add_flag,
    config,
    format_error,
    warn_user,
)

# ---- Flags of devices that nothing heeds, and of mistakes that this version never made: they may be set

Declare = Callable[[str, str, FlagKind[Any], str], None]

#: The values of the flags ``dnn.conv.*``.
SUPPORTED_DNN_CONV_ALGO_FWD = FORWARD
SUPPORTED_DNN_CONV_ALGO_BWD_DATA = BACKWARD_DATA
SUPPORTED_DNN_CONV_ALGO_BWD_FILTER = BACKWARD_FILTER
SUPPORTED_DNN_CONV_ALGO_RUNTIME = RUNTIME
SUPPORTED_DNN_CONV_PRECISION = PRECISIONS

NO_DEVICE = "the code that runs on devices is of another kind, and has no such choice"
_NO_BUG = "this version never made that mistake, so that there is nothing to warn of"
_DEVICES: tuple[tuple[str, str, FlagKind[Any]], ...] = (
    ("gpu.local_elemwise_fusion", "Whether elementwise operations on devices are fused.", BoolFlag(True)),
    ("gpuelemwise.sync", "Whether elementwise operations wait for the device.", BoolFlag(True)),
    ("gpuarray.sync", "Whether each operation waits for the device.", BoolFlag(False)),
    ("dnn.conv.algo_bwd", "Old name of two other flags.", StrFlag("")),
    ("dnn.conv.workmem", "Old name of ``dnn.conv.algo_fwd``.", StrFlag("")),
    ("dnn.conv.workmem_bwd", "Old name of two other flags.", StrFlag("")),
    ("magma.enabled", "Whether MAGMA is used.", BoolFlag(False)),
    ("magma.include_path", "Folder of the headers of MAGMA.", StrFlag("")),
    ("magma.library_path", "Folder of the library of MAGMA.", StrFlag("")),
)
_BUGS = (
    ("argmax_pushdown_bug", "0.3"),
    ("gpusum_01_011_0111_bug", "0.3"),
    ("sum_sum_bug", "0.3"),
    ("sum_div_dimshuffle_bug", "0.3"),
    ("gpu_set_subtensor1", "0.6"),
    ("vm_gc_bug", "0.5"),
    ("signal_conv2d_interface", "0.5"),
    ("reduce_join", "0.6"),
    ("inc_set_subtensor1", "0.7"),
    ("round", "0.9"),
    ("identify_1pexp_bug", "0.4.1"),
    ("inc_subtensor1_opt", "1.0.2"),
)
_OTHERS: tuple[tuple[str, str, FlagKind[Any], str], ...] = (
    (
        "blas.check_openmp",
        "Whether it is checked that the BLAS library uses threads where others do.",
        BoolFlag(True),
        "the library says by itself how many threads it uses",
    ),
    (
        "cache_optimizations",
        "Whether optimized graphs are kept between processes.",
        BoolFlag(False),
        "optimizing takes less time than reading and comparing kept graphs",
    ),
    (
        "check_input",
        "Whether compiled code checks the types of its inputs.",
        BoolFlag(True),
        "the checks are made once where values come in, and cost next to nothing",
    ),
    (
        "experimental.local_alloc_elemwise",
        "Whether filled arrays that only broadcast are removed.",
        BoolFlag(True),
        "that is a rewrite like others: exclude `local_alloc_elemwise` to be without it",
    ),
    (
        "tensor.insert_inplace_optimizer_validate_nb",
        "After how many changes the in-place optimizer checks a graph.",
        IntFlag(-1),
        "checks cost only the changed nodes, so that none is left out",
    ),
    (
        "optdb.position_cutoff",
        "Where sequences of rewriters end.",
        FloatFlag(math.inf),
        "a query says so: `theano.gof.Query(..., position_cutoff=...)`, or its attribute",
    ),
    (
        "optdb.max_use_ratio",
        "How many times one rewriter may be applied for each node of a graph.",
        FloatFlag(8.0),
        "each equilibrium has a limit of its own, and says which rewriters undo each other where it is reached",
    ),
    (
        "pickle_test_value",
        "Whether pickles of variables have their test values.",
        BoolFlag(True),
        "they always have them; delete `variable.tag.test_value` before",
    ),
    (
        "unpickle_function",
        "Whether functions are made when they are read from pickles.",
        BoolFlag(True),
        "they always are; the flag ``reoptimize_unpickled_function`` says whether their graphs are rewritten again",
    ),
    (
        "tensor.local_elemwise_fusion",
        "Whether elementwise operations are fused.",
        BoolFlag(True),
        "that is a rewrite like others: exclude `fusion` to be without it",
    ),
    (
        "print_global_stats",
        "Whether numbers about all functions are printed at the end.",
        BoolFlag(False),
        "``profile=True`` prints them with the profiles",
    ),
    (
        "profiling.time_thunks",
        "Whether profiles have the time of each node.",
        BoolFlag(True),
        "profiles always have it",
    ),
)


def declare_all(declare: Declare, default_of: Callable[[str], bool]) -> None:
    """Declare the flags.

    Parameters
    ----------
    declare : callable
        Takes a name, a sentence, the kind of flag, and why it has no effect.
    default_of : callable
        Tells whether the user wants to hear of mistakes fixed in a version.
    """
    for name, doc, kind in _DEVICES:
        declare(name, doc, kind, NO_DEVICE)
    for name, version in _BUGS:
        doc = f"Whether to warn where versions before {version} were wrong."
        declare(f"warn.{name}", doc, BoolFlag(partial(default_of, version)), _NO_BUG)
    for name, doc, kind, why in _OTHERS:
        declare(name, doc, kind, why)


# ---- Flags without effect that programs may set, and the flags about old warnings

FLAGS_VARIABLE = "THEANO_FLAGS"
_VERSIONS = (
    *("0.3", "0.4", "0.4.1", "0.5", "0.6", "0.7", "0.8", "0.8.1", "0.8.2", "0.9", "0.10"),
    *("1.0", "1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.0.5"),
)


#: Names of flags of GPU back-ends that this version does not know at all.
_FORMER = re.compile(r"(nvcc|cuda|cublas|gpu|gpuarray|dnn|magma|pycuda|enable_initial_driver_test)(\..*)?|lib\.cnmem")
#: How the devices are called that there are now.
NEW_DEVICES = "device=cuda and device=opencl0:0 compute on a device"
#: Flag that nothing heeds -> why.
UNHEEDED: dict[str, str] = {}
#: Flags of GPU back-ends: one message at the start covers them all.
OBSOLETE: set[str] = set()


class _Gathered:
    """Flags of GPU back-ends that have been met while the settings are read; None at other times."""

    names: list[str] | None = None


_gathered = _Gathered()


def is_former(name: str) -> bool:
    """Tell whether a flag was one of a GPU back-end."""
    return name in OBSOLETE or (name not in config.flag_names() and bool(_FORMER.fullmatch(name)))


def is_former_device(device: str) -> bool:
    """Tell whether a device is called as in a back-end that was obsolete already, such as ``gpu0``."""
    return bool(re.fullmatch(r"gpu\d*", device))


def obsolete_text(names: Sequence[str]) -> str:
    """Return the message about flags of GPU back-ends.

    Parameters
    ----------
    names : sequence of str
        At least one; ``device=gpu`` counts as a name.

    Examples
    --------
    >>> print(obsolete_text(["lib.cnmem"]).splitlines()[0])
    the flag `lib.cnmem` is obsolete: it was for a former GPU back-end, and nothing heeds it
    """
    listed = ", ".join(f"`{name}`" for name in names)
    one = len(names) == 1
    instead = f"; {NEW_DEVICES}" if any(name.startswith("device=") for name in names) else ""
    return format_error(
        f"the flag{'' if one else 's'} {listed} {'is' if one else 'are'} obsolete: {'it was' if one else 'they were'} "
        f"for a former GPU back-end, and nothing heeds {'it' if one else 'them'}",
        hint=f"leave {'it' if one else 'them'} out of {FLAGS_VARIABLE} and configuration files{instead}",
    )


def read_settings() -> tuple[list[str], list[str]]:
    """Read all settings.

    Returns
    -------
    obsolete : list of str
        Names of flags of GPU back-ends that are set.
    advice : list of str
        One line for each of the other settings that are no flags.
    """
    _gathered.names = []
    try:
        advice = config.check_settings()
        names = _gathered.names
    finally:
        _gathered.names = None
    former = [line.partition(" (from ")[0] for line in config.unused_settings() if line.endswith(f"{FLAGS_VARIABLE})")]
    former = [name for name in former if is_former(name)]
    return [*names, *former], [line for line in advice if not any(f"`{name}`" in line for name in former)]


class _Notice:
    """Warns once, when the flag gets another value than its default."""

    def __init__(self, name: str, kind: FlagKind[Any], why: str) -> None:
        self.name, self.kind, self.why = name, kind, why
        self.given = False

    def __call__(self, value: Any) -> None:
        if self.given or value == self.kind.default():
            return
        self.given = True
        if self.name in OBSOLETE and _gathered.names is not None:
            _gathered.names.append(self.name)
            return
        what = f"the flag `{self.name}` has no effect in this version: {self.why}"
        warn_user(format_error(what, hint=f"leave `{self.name}` out"))


def _declare(name: str, doc: str, kind: FlagKind[Any], why: str) -> None:
    """Declare a flag, unless a layer that heeds it has done so."""
    if name in config.flag_names():
        return
    UNHEEDED[name] = why
    if why is NO_DEVICE:
        OBSOLETE.add(name)
    add_flag(name, f"{doc} Has no effect: {why}.", kind, on_change=_Notice(name, kind, why))


def warn_default(version: str) -> bool:
    """Tell whether the user wants to hear of mistakes that a version of Theano fixed.

    Parameters
    ----------
    version : str
        As "0.5".

    Returns
    -------
    bool
        As the flag ``warn.ignore_bug_before`` says.

    Examples
    --------
    >>> warn_default("0.3"), warn_default("1.0")
    (False, True)
    """
    before = str(config.warn.ignore_bug_before)
    if before in ("None", "all"):
        return before == "None"
    return _numbers(version) > _numbers(before)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


add_flag(
    "warn.ignore_bug_before",
    "Warnings about mistakes of older versions that were fixed before this version are left out; 'None': all are "
    "given, 'all': none. This version never had those mistakes, so it has no such warnings of its own: the flag "
    "answers `theano.configdefaults.warn_default`, by which programs decide about theirs.",
    EnumFlag("0.9", "None", "all", *(version for version in _VERSIONS if version != "0.9")),
    fixed=True,
)
_declare(
    "warn.subtensor_merge_bug",
    "Whether to warn where versions before 0.5 merged two indices wrongly.",
    BoolFlag(lambda: warn_default("0.5")),
    "this version merges them rightly, and does not compare itself with those",
)
_declare(
    "cycle_detection",
    "How overwriting is kept from making cycles: 'regular' allows the most, 'fast' compiles faster.",
    EnumFlag("regular", "fast"),
    "one method, whose cost grows with the changes only, allows the most and is fast",
)
_declare(
    "lib.amdlibm",
    "Whether compiled code takes mathematical functions from AMD's library.",
    BoolFlag(False),
    "kernels use the vector functions of the C library, which processors by AMD run too",
)
_declare(
    "ctc.root",
    "Folder of an installation of warp-ctc.",
    StrFlag(""),
    "`theano.tensor.nnet.ctc` is an implementation of our own, which needs no library",
)
declare_all(_declare, warn_default)
