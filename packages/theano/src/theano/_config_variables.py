"""Names of `theano.configparser` and `theano.configdefaults` for programs that look at flags and at the machine."""

from __future__ import annotations

import configparser
import hashlib
import os
import platform
import re
import shlex
import socket
import struct
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, overload

import numpy as np

from theano_graph import BoolFlag, Flag, config

from ._version import __version__
from .gof._compilers import gcc_version

# ---- What `theano.configparser` and `theano.configdefaults` have for programs that look at flags and at the machine

# ---- The flags one by one, as objects: the form in which programs for Theano 1.0 look at them and change them


class TheanoConfigWarning(Warning):
    """Something in a setting is passed over."""

    __module__ = "theano.configparser"

    @classmethod
    def warn(cls, message: str, stacklevel: int = 0) -> None:
        """Give a warning of this class."""
        warnings.warn(message, cls, stacklevel=stacklevel + 3)


class ConfigVariable:
    """A flag, by its full name; ``__get__`` and ``__set__`` read and change it.

    Parameters
    ----------
    flag : Flag

    Examples
    --------
    >>> floatx = next(v for v in variables if v.fullname == "floatX")
    >>> floatx.__get__(True, None) in floatx.all
    True
    """

    def __init__(self, flag: Flag) -> None:
        self._flag = flag
        self.fullname = flag.name
        self.doc = flag.doc
        self.allow_override = not flag.fixed
        self.in_c_key = False
        words = getattr(flag.kind, "words", None)
        if words is not None:
            self.all = tuple(words)

    @property
    def default(self) -> Any:
        """The default value."""
        return self._flag.kind.default()

    @property
    def val(self) -> Any:
        """The present value."""
        return self.__get__(True)

    @property
    def is_default(self) -> bool:
        """Whether nobody has given the flag a value."""
        return config.source_of(self.fullname) == "the default"

    def __get__(self, cls: Any = True, type_: Any = None, delete_key: bool = False) -> Any:
        """Return the present value; the variable itself where `cls` is None."""
        if cls is None:
            return self
        value: Any = config
        for part in self.fullname.split("."):
            value = getattr(value, part)
        return value

    def __set__(self, cls: Any, val: Any) -> None:
        """Change the value."""
        *sections, last = self.fullname.split(".")
        owner: Any = config
        for section in sections:
            owner = getattr(owner, section)
        setattr(owner, last, val)

    def __str__(self) -> str:
        return f"{self.fullname} ({getattr(self, 'all', self._flag.kind.allowed)}) "


class ConfigVariables(Sequence[ConfigVariable]):
    """All flags that are declared at the moment, in alphabetical order."""

    def __iter__(self) -> Iterator[ConfigVariable]:
        return (ConfigVariable(config.flag(name)) for name in config.flag_names())

    def __len__(self) -> int:
        return len(config.flag_names())

    @overload
    def __getitem__(self, index: int) -> ConfigVariable: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ConfigVariable]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return list(self)[index]


variables = ConfigVariables()


def get_config_hash() -> str:
    """Return a digest of all flags and their values.

    Examples
    --------
    >>> get_config_hash() == get_config_hash()
    True
    """
    lines = [f"{variable.fullname} = {variable.val}" for variable in variables]
    return "m" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def parse_config_string(config_string: str, issue_warnings: bool = True) -> dict[str, str]:
    """Parse a text in the form of ``THEANO_FLAGS`` into settings by name.

    Parameters
    ----------
    config_string : str
    issue_warnings : bool
        Whether entries without a value give a warning; they are passed over.

    Examples
    --------
    >>> parse_config_string("floatX=float32,gcc.cxxflags='-O1, -g'")
    {'floatX': 'float32', 'gcc.cxxflags': '-O1, -g'}
    """
    splitter = shlex.shlex(config_string, posix=True)
    splitter.whitespace = ","
    splitter.whitespace_split = True
    settings: dict[str, str] = {}
    for entry in map(str.strip, splitter):
        name, equals, value = entry.partition("=")
        if equals:
            settings[name] = value
        elif entry and issue_warnings:
            TheanoConfigWarning.warn(f"Config key '{name}' has no value, ignoring it", stacklevel=1)
    return settings


def config_files_from_theanorc() -> list[str]:
    """Return the paths of the configuration files; where two give a flag, the later one counts."""
    paths = os.environ.get("THEANORC", "~/.theanorc").split(os.pathsep)
    if "THEANORC" not in os.environ and sys.platform == "win32":
        paths.append("~/.theanorc.txt")
    return [os.path.expanduser(path) for path in paths]


def read_files(parser: configparser.RawConfigParser) -> configparser.RawConfigParser:
    """Return a parser that has read the configuration files."""
    parser.read(config_files_from_theanorc())
    return parser


def fetch_val_for_key(key: str, delete_key: bool = False) -> str:
    """Return the setting of a flag in ``THEANO_FLAGS`` or the files, as text.

    Parameters
    ----------
    key : str
        Full name.
    delete_key : bool
        Taken for compatibility.

    Raises
    ------
    KeyError
        If they say nothing.
    """
    setting = config.setting(key)
    if setting is None:
        raise KeyError(key)
    return setting


# ---- Names for the directory of compiled code, and other questions about the machine and its versions

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


# ---- The folders in which the system looks for programs


class PathParser:
    """Adds folders to the environment variable ``PATH`` of this process, which it sorts.

    Parameters
    ----------
    *paths : str

    Attributes
    ----------
    paths : set of str
        The folders, those of all objects together.
    """

    paths: ClassVar[set[str]] = set()

    def __init__(self, *paths: str) -> None:
        for path in (*os.environ.get("PATH", "").split(os.pathsep), *paths):
            self._note(path)
        self._update()

    def add(self, path: str) -> None:
        """Add one folder."""
        self._note(path)
        self._update()

    def _note(self, path: str) -> None:
        path = path.strip()
        if path:
            self.paths.add(os.path.abspath(path.lower() if sys.platform == "win32" else path))

    def _update(self) -> None:
        os.environ["PATH"] = os.pathsep.join(sorted(self.paths))
