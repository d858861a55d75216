"""Kinds of flags, and the sources of their values: the environment and configuration files."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from ._errors import ConfigError, ConfigWarning, format_error, warn_user

# ---- Kinds of flags: their values, and how text is parsed

T = TypeVar("T")

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


class FlagKind(Generic[T]):
    """How a flag is read and checked; the base of the kinds below.

    Parameters
    ----------
    default : object or callable without arguments
        A callable is called when the default is first needed.
    """

    allowed = ""

    def __init__(self, default: T | Callable[[], T], validate: Callable[[T], bool] | None = None) -> None:
        self._default = default
        self._validate = validate

    def default(self) -> T:
        """Return the default value."""
        return self._default() if callable(self._default) else self._default

    def parse(self, value: Any) -> T:
        """Return `value`, text or object, as a value of the flag; raise ValueError when it is none."""
        raise ValueError(value)

    def checked(self, value: Any) -> T:
        """Parse and validate `value`."""
        parsed = self.parse(value)
        if self._validate is not None and not self._validate(parsed):
            raise ValueError(value)
        return parsed


class BoolFlag(FlagKind[bool]):
    """True or false; text may be 1, true, yes, on, 0, false, no, off."""

    allowed = "True or False"

    def parse(self, value: Any) -> bool:
        """Return the truth value that `value` spells."""
        if isinstance(value, str) and value.strip().lower() in _TRUE:
            return True
        if isinstance(value, str) and value.strip().lower() in _FALSE:
            return False
        if isinstance(value, (bool, int)) and value in (0, 1):
            return bool(value)
        raise ValueError(value)


class IntFlag(FlagKind[int]):
    """An integer."""

    allowed = "an integer"

    def parse(self, value: Any) -> int:
        """Return the integer that `value` spells."""
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(value)
        return int(value)


class FloatFlag(FlagKind[float]):
    """A real number."""

    allowed = "a number"

    def parse(self, value: Any) -> float:
        """Return the number that `value` spells."""
        return float(value)


class StrFlag(FlagKind[str]):
    """Any text."""

    allowed = "a string"

    def parse(self, value: Any) -> str:
        """Return `value`, which must be text."""
        if not isinstance(value, (str, os.PathLike)):
            raise ValueError(value)
        return os.fspath(value)


class EnumFlag(FlagKind[str]):
    """One of some words.

    Parameters
    ----------
    default : str
    *others : str
        The other allowed words.
    """

    def __init__(self, default: str, *others: str) -> None:
        super().__init__(default)
        self.words = (default, *others)
        self.allowed = "one of " + ", ".join(map(repr, self.words))

    def parse(self, value: Any) -> str:
        """Return `value`, which must be one of the words."""
        if value is None and "None" in self.words:
            return "None"
        if value not in self.words:
            raise ValueError(value)
        return str(value)


# ---- Settings in the environment and in configuration files

#: The name of the environment variable, as texts cite it.
FLAGS_VARIABLE = "THEANO_FLAGS"
FILES_VARIABLE = "THEANORC"
# Flags without a section stand here.
_PLAIN_SECTION = "global"
# A comma between quotes or brackets belongs to the value.
_PIECES = re.compile(r"""(?:"[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|[^,])+""")


class Setting(NamedTuple):
    """A value as it is written, under the name that is written there, and where."""

    name: str
    text: str
    source: str


def parse_settings(text: str, source: str = FLAGS_VARIABLE) -> list[Setting]:
    """Return the entries of ``flag=value,flag=value``, in order.

    Parameters
    ----------
    text : str
        Commas inside quotes or brackets belong to the value; quotes around a whole value are dropped.
    source : str
        The name of the text in errors.

    Raises
    ------
    ConfigError
        If an entry has no name or no ``=``.
    """
    result: list[Setting] = []
    for entry in map(str.strip, _PIECES.findall(text)):
        if not entry:
            continue
        name, sep, value = (part.strip() for part in entry.partition("="))
        if not sep or not name:
            raise ConfigError(
                format_error(f"{source} has an entry without a value: {entry!r}", hint="write flag=value,flag=value")
            )
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        result.append(Setting(name, value, source))
    return result


def config_files(environ: Mapping[str, str]) -> list[str]:
    """Return the paths of the configuration files; where two give a flag, the later one counts."""
    homes = ["~/.theanorc", "~/.theanorc.txt"] if os.name == "nt" else ["~/.theanorc"]
    text = environ.get(FILES_VARIABLE, os.pathsep.join(homes))
    paths = [os.path.expanduser(path) for path in text.split(os.pathsep) if path]
    # A user without a home directory has no file there; one called "~" in the working directory is somebody else's.
    return [path for path in paths if not path.startswith("~")]


class Sources:
    """The settings of a process outside its code.

    Parameters
    ----------
    environ : mapping
        Environment variables.

    Raises
    ------
    ConfigError
        If the environment variable or a file is not well-formed. A file that is not there counts as empty, and so does
        one that may not be read, with a warning.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._flags: dict[str, Setting] = {}
        # Names in files do not distinguish capitals, as usual in such files.
        self._in_files: dict[str, Setting] = {}
        for path in config_files(environ):
            self._add_file(path)
        for setting in parse_settings(environ.get(FLAGS_VARIABLE, "")):
            self._flags[setting.name] = setting

    def _add_file(self, path: str) -> None:
        parser = configparser.RawConfigParser(inline_comment_prefixes=("#",), strict=False)
        parser.optionxform = str  # type: ignore[method-assign,assignment]
        try:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        except FileNotFoundError:
            return
        except OSError as error:
            # Services, containers and programs under sudo often may not look into the home directory that they have.
            warn_user(
                format_error(
                    f"the configuration file {path} cannot be read ({error.strerror}); the program goes on without it",
                    hint=f"give yourself the right to read it, or name other files in {FILES_VARIABLE}",
                ),
                ConfigWarning,
            )
            return
        except (UnicodeDecodeError, configparser.Error) as error:
            raise ConfigError(
                format_error(f"the configuration file {path} cannot be read: {error}", hint="correct or remove it")
            ) from error
        for section in parser.sections():
            prefix = "" if section == _PLAIN_SECTION else section + "."
            for option, value in parser.items(section):
                self._in_files[(prefix + option).lower()] = Setting(prefix + option, value, path)

    def get(self, name: str) -> Setting | None:
        """Return the text of a flag: the environment variable counts before the files."""
        return self._flags.get(name) or self._in_files.get(name.lower())

    def settings(self) -> list[Setting]:
        """Return all settings, those of the files first."""
        return [*self._in_files.values(), *self._flags.values()]
