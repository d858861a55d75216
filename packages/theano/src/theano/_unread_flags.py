"""Flags that programs may set although nothing in this version heeds them, and what is left of old warnings."""

from __future__ import annotations

import warnings
from typing import Any

from theano_graph import BoolFlag, EnumFlag, FlagKind, IntFlag, StrFlag, add_flag, compose, config

from ._device_flags import declare_all

_VERSIONS = (
    *("0.3", "0.4", "0.4.1", "0.5", "0.6", "0.7", "0.8", "0.8.1", "0.8.2", "0.9", "0.10"),
    *("1.0", "1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.0.5"),
)


class _Notice:
    """Warns once, when the flag gets another value than its default."""

    def __init__(self, name: str, kind: FlagKind[Any], why: str) -> None:
        self.name, self.kind, self.why = name, kind, why
        self.given = False

    def __call__(self, value: Any) -> None:
        if self.given or value == self.kind.default():
            return
        self.given = True
        what = f"the flag `{self.name}` has no effect in this version: {self.why}"
        warnings.warn(compose(what, mend=f"leave `{self.name}` out"), UserWarning, stacklevel=2)


def _declare(name: str, doc: str, kind: FlagKind[Any], why: str) -> None:
    """Declare a flag, unless a layer that heeds it has done so."""
    if name in config.flag_names():
        return
    add_flag(name, f"{doc} Has no effect: {why}.", kind, on_change=_Notice(name, kind, why))


def warn_default(version: str) -> bool:
    """Tell whether the user wants to hear of mistakes that were mended in a version of Theano.

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
    "Warnings about mistakes of older versions that were mended before this version are left out; 'None': all are "
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
    "one method, whose cost grows with what changes only, allows the most and is fast",
)
_declare(
    "deterministic",
    "'more' prefers implementations that always give the same result.",
    EnumFlag("default", "more"),
    "what runs on a CPU gives the same result for the same number of threads, and this version has no devices",
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
_declare(
    "metaopt.verbose",
    "How much the meta-optimizer tells: 0 nothing, 1 what it cannot treat, 2 times and choices.",
    IntFlag(0),
    "there is one implementation of each convolution, so that none has to be chosen by timing",
)
for _name in ("excluding", "including"):
    _declare(
        f"metaopt.optimizer_{_name}",
        f"Tags that the meta-optimizer works {'without' if _name == 'excluding' else 'with'}, separated by colons.",
        StrFlag(""),
        "there is one implementation of each convolution, so that none has to be chosen by timing",
    )
declare_all(_declare, warn_default)
