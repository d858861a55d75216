"""Flags, declared and changed under the names that programs for Theano 1.0 know."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from theano_graph import (
    BoolFlag,
    ChangedFlags,
    Config as TheanoConfigParser,
    ConfigError,
    EnumFlag,
    FlagKind,
    FloatFlag,
    IntFlag,
    StrFlag,
    config as config,
    format_error,
    parse_settings,
)

from ._names import lazy_names

__all__ = [
    "THEANO_FLAGS",
    "THEANO_FLAGS_DICT",
    "AddConfigVar",
    "BoolParam",
    "ConfigParam",
    "EnumStr",
    "FloatParam",
    "IntParam",
    "StrParam",
    "TheanoConfigParser",
    "TypedParam",
    "change_flags",
    "config",
]

#: The text of the environment variable, and its settings.
THEANO_FLAGS = os.environ.get("THEANO_FLAGS", "")
THEANO_FLAGS_DICT = {setting.name: setting.text for setting in parse_settings(THEANO_FLAGS)}


class ConfigParam(FlagKind[Any]):
    """A flag whose values a function checks and converts.

    Parameters
    ----------
    default : object or callable without arguments
    filter : callable, optional
        Returns the value to store for a given one, or raises ValueError.
    allow_override : bool
        Whether the program may assign to the flag.
    """

    def __init__(self, default: Any, filter: Callable[[Any], Any] | None = None, allow_override: bool = True) -> None:
        super().__init__(default)
        self.filter = filter
        self.allow_override = allow_override

    def parse(self, value: Any) -> Any:
        """Return the value that `filter` makes of `value`."""
        return value if self.filter is None else self.filter(value)


class TypedParam(ConfigParam):
    """A flag whose values are made by a class, from text or anything else.

    Parameters
    ----------
    default : object or callable without arguments
    mytype : callable
        Makes a value, or raises ValueError.
    is_valid : callable, optional
        Tells whether a value is allowed.
    allow_override : bool
    """

    def __init__(
        self,
        default: Any,
        mytype: Callable[[Any], Any],
        is_valid: Callable[[Any], bool] | None = None,
        allow_override: bool = True,
    ) -> None:
        super().__init__(default, mytype, allow_override)
        self.mytype = mytype
        self.is_valid = is_valid
        self.allowed = f"a value of {getattr(mytype, '__name__', mytype)}"

    def parse(self, value: Any) -> Any:
        """Return `value` as one of the type, if it is allowed."""
        made = self.mytype(value)
        if self.is_valid is not None and not self.is_valid(made):
            raise ValueError(value)
        return made


def _of_kind(
    kind: FlagKind[Any], default: Any, is_valid: Callable[[Any], bool] | None, allow_override: bool
) -> TypedParam:
    param = TypedParam(default, kind.parse, is_valid, allow_override)
    param.allowed = kind.allowed
    return param


def StrParam(default: Any, is_valid: Callable[[Any], bool] | None = None, allow_override: bool = True) -> TypedParam:
    """Return a flag of any text; see :class:`TypedParam`."""
    return _of_kind(StrFlag(""), default, is_valid, allow_override)


def IntParam(default: Any, is_valid: Callable[[Any], bool] | None = None, allow_override: bool = True) -> TypedParam:
    """Return a flag of integers; see :class:`TypedParam`."""
    return _of_kind(IntFlag(0), default, is_valid, allow_override)


def FloatParam(default: Any, is_valid: Callable[[Any], bool] | None = None, allow_override: bool = True) -> TypedParam:
    """Return a flag of real numbers; see :class:`TypedParam`."""
    return _of_kind(FloatFlag(0.0), default, is_valid, allow_override)


def BoolParam(default: Any, is_valid: Callable[[Any], bool] | None = None, allow_override: bool = True) -> TypedParam:
    """Return a flag that is true or false; see :class:`TypedParam`."""
    return _of_kind(BoolFlag(False), default, is_valid, allow_override)


def EnumStr(default: str, *options: str, allow_override: bool = True) -> TypedParam:
    """Return a flag of some words.

    Parameters
    ----------
    default : str
    *options : str
        The other words.
    allow_override : bool

    Raises
    ------
    ConfigError
        If a word is no text.
    """
    if not all(isinstance(word, str) for word in (default, *options)):
        raise ConfigError(format_error(f"the words {(default, *options)!r} of a flag have to be text"))
    return _of_kind(EnumFlag(default, *options), default, None, allow_override)


def AddConfigVar(
    name: str, doc: str, configparam: FlagKind[Any], root: TheanoConfigParser = config, in_c_key: bool = True
) -> None:
    """Declare a flag; it is then an attribute of ``theano.config``.

    Parameters
    ----------
    name : str
        Dotted for a flag in a section.
    doc : str
        One sentence for the user.
    configparam : ConfigParam or FlagKind
    root : TheanoConfigParser
        Where it is declared.
    in_c_key : bool
        Taken for compatibility: the key of compiled code is its content, not the flags.

    Raises
    ------
    ConfigError
        If a flag of this name exists, or the value in THEANO_FLAGS or a file is not allowed.

    Examples
    --------
    >>> from theano import configparser
    >>> configparser.AddConfigVar("my_tool.depth", "How deep to look.", configparser.IntParam(3))
    >>> configparser.config.my_tool.depth
    3
    """
    root.add_flag(name, doc, configparam, fixed=not getattr(configparam, "allow_override", True))
    if name in THEANO_FLAGS_DICT:
        root.flag(name).set(THEANO_FLAGS_DICT.pop(name), "THEANO_FLAGS")
    root.source_of(name)


class change_flags(ChangedFlags):
    """A decorator and context manager that changes flags; see ``theano.config.change_flags``.

    Parameters
    ----------
    args : mapping or iterable of pairs
        Names of flags to values.
    **kwargs
        Flags by name; ``gcc__cxxflags`` stands for ``gcc.cxxflags``.

    Examples
    --------
    >>> from theano import configparser
    >>> with configparser.change_flags(floatX="float32"):
    ...     configparser.config.floatX
    'float32'
    """

    def __init__(self, args: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), **kwargs: Any) -> None:
        vars(self).update(vars(config.change_flags(dict(args), **kwargs)))


if TYPE_CHECKING:
    from theano import theano as theano

    from ._compat import PY3 as PY3
    from ._config_variables import (
        TheanoConfigWarning as TheanoConfigWarning,
        config_files_from_theanorc as config_files_from_theanorc,
        fetch_val_for_key as fetch_val_for_key,
        get_config_hash as get_config_hash,
        parse_config_string as parse_config_string,
        theano_cfg as theano_cfg,
        theano_raw_cfg as theano_raw_cfg,
        variables,
    )
    from .gof._historical_utils import string_types as string_types

    _config_var_list = variables
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "._config_variables": (
                "TheanoConfigWarning _config_var_list=variables config_files_from_theanorc fetch_val_for_key "
                "get_config_hash parse_config_string theano_cfg theano_raw_cfg"
            ),
            "._compat": "PY3",
            ".gof._historical_utils": "string_types",
            "theano": "theano",
        },
    )
