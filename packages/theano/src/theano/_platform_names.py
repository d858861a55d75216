"""Names for the directory of compiled code, and other questions about the machine and its versions."""

from __future__ import annotations

import configparser
import os
import platform
import re
import socket
import struct
from typing import Any

import numpy as np

from theano_graph import BoolFlag, config

from ._config_variables import read_files
from ._version import __version__
from .gof.cmodule import gcc_version

default_compiledir_format = str(config.compiledir_format)


def local_bitwidth() -> int:
    """Return how many bits a pointer has.

    Examples
    --------
    >>> local_bitwidth() in (32, 64)
    True
    """
    return struct.calcsize("P") * 8


def python_int_bitwidth() -> int:
    """Return how many bits a C ``long`` has."""
    return struct.calcsize("l") * 8


def short_platform(r: str | None = None, p: str | None = None) -> str:
    """Return the name of the system without the parts of its version that change with every update.

    Parameters
    ----------
    r : str, optional
        The release of the system; by default of this one.
    p : str, optional
        Its name, in which the release stands.

    Examples
    --------
    >>> short_platform("3.2.0-70-generic", "Linux-3.2.0-70-generic-x86_64")
    'Linux-3.2--generic-x86_64'
    """
    release = platform.release() if r is None else r
    name = platform.platform() if p is None else p
    version, dash, remainder = release.partition("-")
    numbers = version.split(".")
    if not dash or len(numbers) < 2 or not (numbers[0].isdigit() and numbers[1].isdigit()):
        return name
    version_number = remainder.lstrip("0123456789")
    if version_number.startswith("."):
        # Further numbers of a build, up to a part that begins with a letter.
        parts = version_number[1:].split(".")
        while parts and re.match(r"\d", parts[0]):
            digits = parts.pop(0).lstrip("0123456789")
            if digits:
                parts.insert(0, digits)
                break
        version_number = ".".join(parts)
    return name.replace(release, f"{numbers[0]}.{numbers[1]}-{version_number}")


def split_version(version: str) -> tuple[str, str, str]:
    """Return the part of a version before its last number, that number, and the text behind it."""
    match = re.match(r"(.*\.)?(\d+)(.*)$", version)
    return (version, "", "") if match is None else (match[1] or "", match[2], match[3])


def floatX_convert(s: str) -> str:
    """Return the name of a dtype for ``floatX`` where only its number of bits is given."""
    return {"32": "float32", "64": "float64", "16": "float16"}.get(s, s)


def good_seed_param(seed: Any) -> bool:
    """Tell whether the flag ``unittests.rseed`` may have a value: a number, or ``random``."""
    try:
        return seed == "random" or int(seed) >= 0
    except (TypeError, ValueError):
        return False


def get_home_dir() -> str:
    """Return the user's folder."""
    return os.path.expanduser("~")


def is_valid_check_preallocated_output_param(param: Any) -> bool:
    """Tell whether the flag ``DebugMode.check_preallocated_output`` may have a value."""
    words = {"initial", "previous", "c_contiguous", "f_contiguous", "strided", "wrong_size", "ALL", ""}
    return isinstance(param, str) and set(param.split(":")) <= words


def filter_vm_lazy(val: Any) -> bool | None:
    """Return the value that the flag ``vm.lazy`` has for a text."""
    return None if val in (None, "None") else BoolFlag(False).parse(val)


def filter_mode(val: Any) -> Any:
    """Return `val`, which may be a mode or the name of one."""
    return val


def default_compiledirname() -> str:
    """Return the name of the directory of compiled code inside of ``base_compiledir``."""
    return os.path.basename(str(config.compiledir))


def default_compiledir() -> str:
    """Return the path of the directory of compiled code."""
    return os.path.join(str(config.base_compiledir), default_compiledirname())


def compiledir_names() -> dict[str, Any]:
    """Return the fields of ``compiledir_format``, with their values."""
    return {
        "platform": platform.platform(),
        "processor": platform.processor(),
        "python_version": platform.python_version(),
        "python_bitwidth": local_bitwidth(),
        "python_int_bitwidth": python_int_bitwidth(),
        "theano_version": __version__,
        "numpy_version": np.__version__,
        "gxx_version": gcc_version().replace(" ", "_"),
        "hostname": socket.gethostname(),
        "short_platform": short_platform(),
        "device": config.device,
    }


def __getattr__(name: str) -> Any:
    """Return slow facts about the machine and the contents of files, computed on first use."""
    makers: dict[str, Any] = {
        "compiledir_format_dict": compiledir_names,
        "compiledir_format_keys": lambda: ", ".join(sorted(compiledir_names())),
        "gcc_version_str": gcc_version,
        "default_base_compiledir": lambda: str(config.base_compiledir),
        "theano_cfg": lambda: read_files(configparser.ConfigParser()),
        "theano_raw_cfg": lambda: read_files(configparser.RawConfigParser()),
    }
    if name not in makers:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = makers[name]()
    return value
