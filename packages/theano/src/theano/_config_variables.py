"""The flags one by one, as objects: the form in which programs for Theano 1.0 look at them and change them."""

from __future__ import annotations

import configparser
import hashlib
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, overload

from theano_graph import Flag, config


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
