"""What the environment and the configuration files say of flags."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from .._errors import ConfigError, ConfigWarning, format_error
from .._user_code import warn_user

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
        What errors call the text.

    Raises
    ------
    ConfigError
        If an entry has no name or no ``=``.
    """
    found: list[Setting] = []
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
        found.append(Setting(name, value, source))
    return found


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
        """Return what is said of a flag: the environment variable counts before the files."""
        return self._flags.get(name) or self._in_files.get(name.lower())

    def settings(self) -> list[Setting]:
        """Return all settings, those of the files first."""
        return [*self._in_files.values(), *self._flags.values()]
