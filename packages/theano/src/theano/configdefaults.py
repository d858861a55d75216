"""The one configuration object, the logger, the flags that count once, at import, and their effects."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

import theano_gpuarray as _flags_of_devices  # noqa: F401  # it declares them
from theano_graph import EnumFlag, add_flag, config, warn_user

from ._names import devices, lazy_names
from ._old_flags import is_former_device, obsolete_text, read_settings

# ---- The handler of the package's log messages

#: The logger above all others of the package.
theano_logger = logging.getLogger("theano")

#: A handler that writes to the standard error stream; programs exchange it for one of their own.
logging_default_handler = logging.StreamHandler()


def has_handlers(logger: logging.Logger) -> bool:
    """Tell whether a logger, or one above it that it hands messages to, has a handler."""
    return logger.hasHandlers()


def disable_log_handler(logger: logging.Logger | None = None, handler: logging.Handler | None = None) -> None:
    """Take a handler, or all of them, away from a logger: ``theano`` by default.

    Examples
    --------
    >>> disable_log_handler()
    >>> logging.getLogger("theano").handlers
    []
    """
    chosen = logging.getLogger("theano") if logger is None else logger
    for handlers in list(chosen.handlers) if handler is None else [handler]:
        chosen.removeHandler(handlers)


# ---- The one configuration object, the flags that count once, at import, and their effects

_REACTIONS = ("warn", "raise", "call", "print", "log")

add_flag(
    "numpy.seterr_all",
    "NumPy's reaction to floating-point errors of any kind; 'None' leaves NumPy as it is.",
    EnumFlag("ignore", *_REACTIONS, "None"),
    fixed=True,
)
for _error, _meaning in (
    ("divide", "divisions by zero"),
    ("over", "overflows"),
    ("under", "underflows"),
    ("invalid", "invalid operations"),
):
    add_flag(
        f"numpy.seterr_{_error}",
        f"NumPy's reaction to {_meaning}; 'None': as `numpy.seterr_all` says.",
        EnumFlag("None", "ignore", *_REACTIONS),
        fixed=True,
    )


def apply_numpy_errors() -> None:
    """Set NumPy's reactions to floating-point errors in this thread, as the flags ``numpy.seterr_*`` say."""
    section = config.numpy
    modes = {
        "all": section.seterr_all,
        "divide": section.seterr_divide,
        "over": section.seterr_over,
        "under": section.seterr_under,
        "invalid": section.seterr_invalid,
    }
    np.seterr(**{kind: reaction for kind, reaction in modes.items() if reaction != "None"})


def _names_devices() -> bool:
    """Tell whether the flags name a device."""
    return config.device != "cpu" or config.init_gpu_device not in ("", "cpu") or bool(config.contexts)


def start() -> None:
    """Check THEANO_FLAGS and the files, and apply the flags that count at import.

    Raises
    ------
    ConfigError
        If they are not well-formed, or a value is not allowed; or if a device cannot be used, and that is an error.
    """
    obsolete, others = read_settings()
    former = is_former_device(config.device)
    if former:
        obsolete.insert(0, f"device={config.device}")
    if obsolete:
        warn_user(obsolete_text(obsolete))
    for advice in others:
        warn_user(advice)
    apply_numpy_errors()
    if _names_devices() and (config.force_device or not former):
        devices().activate()


if TYPE_CHECKING:
    from theano import theano as theano

    from ._config_variables import (
        compiledir_format_dict as compiledir_format_dict,
        compiledir_format_keys as compiledir_format_keys,
        default_base_compiledir as default_base_compiledir,
        default_compiledir as default_compiledir,
        default_compiledir_format as default_compiledir_format,
        default_compiledirname as default_compiledirname,
        filter_mode as filter_mode,
        filter_vm_lazy as filter_vm_lazy,
        floatX_convert as floatX_convert,
        gcc_version_str as gcc_version_str,
        get_home_dir as get_home_dir,
        good_seed_param as good_seed_param,
        is_valid_check_preallocated_output_param as is_valid_check_preallocated_output_param,
        local_bitwidth as local_bitwidth,
        python_int_bitwidth as python_int_bitwidth,
        short_platform as short_platform,
        split_version as split_version,
    )
    from ._doctor import cpuCount as cpuCount
    from ._old_flags import warn_default as warn_default
    from .configparser import (
        THEANO_FLAGS_DICT as THEANO_FLAGS_DICT,
        AddConfigVar as AddConfigVar,
        BoolParam as BoolParam,
        ConfigParam as ConfigParam,
        EnumStr as EnumStr,
        FloatParam as FloatParam,
        IntParam as IntParam,
        StrParam as StrParam,
        TheanoConfigParser as TheanoConfigParser,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "._config_variables": (
                "compiledir_format_dict compiledir_format_keys default_base_compiledir default_compiledir "
                "default_compiledir_format default_compiledirname filter_mode filter_vm_lazy floatX_convert "
                "gcc_version_str get_home_dir good_seed_param is_valid_check_preallocated_output_param local_bitwidth "
                "python_int_bitwidth short_platform split_version"
            ),
            ".configparser": (
                "AddConfigVar BoolParam ConfigParam EnumStr FloatParam IntParam StrParam THEANO_FLAGS_DICT "
                "TheanoConfigParser"
            ),
            ".misc.cpucount": "cpuCount",
            "theano": "theano",
        },
    )
