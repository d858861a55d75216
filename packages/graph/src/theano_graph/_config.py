"""Configuration: typed flags that every layer adds its own to.

The value of a flag comes from the first of: an assignment in the program, the environment variable ``THEANO_FLAGS``
(``flag=value`` separated by commas, the right-most wins), the files named in ``THEANORC`` (default ``~/.theanorc``,
separated like ``PATH``, the right-most wins), and the default. A flag ``section.name`` is written in a file as ``name``
under ``[section]``; flags without a section stand under ``[global]``. Sources are read on first use, never at import.
"""

from __future__ import annotations

import configparser
import contextlib
import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ._errors import ConfigError, UnknownFlagError, compose

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


@dataclass
class Flag:
    """A declared flag and the value that it has now."""

    name: str
    doc: str
    kind: FlagKind[Any]
    fixed: bool
    value: Any = None
    source: str | None = None
    on_change: Callable[[Any], None] | None = None

    def set(self, value: Any, source: str) -> None:
        """Parse, validate and store `value`."""
        try:
            self.value = self.kind.checked(value)
        except (ValueError, TypeError):
            raise ConfigError(
                compose(
                    f"flag `{self.name}` cannot be {value!r} (from {source})",
                    mend=f"give it {self.kind.allowed or 'an allowed value'}",
                )
            ) from None
        self.source = source
        if self.on_change is not None:
            self.on_change(self.value)


@dataclass
class _Sources:
    """What the environment and the files say, read once."""

    flags: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> _Sources:
        sources = cls()
        for path in reversed(_rc_files(environ)):
            sources._add_file(path)
        sources._add_text(environ.get("THEANO_FLAGS", ""))
        return sources

    def _add_file(self, path: str) -> None:
        parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=("#",), strict=False)
        try:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            raise ConfigError(
                compose(f"the configuration file {path} cannot be read: {error}", mend="correct or remove it")
            ) from error
        for section in parser.sections():
            prefix = "" if section == "global" else section + "."
            for option, value in parser.items(section):
                self.flags[prefix + option] = (value, path)

    def _add_text(self, text: str) -> None:
        for entry in _split_flags(text):
            name, sep, value = entry.partition("=")
            if not sep or not name.strip():
                raise ConfigError(
                    compose(f"THEANO_FLAGS has an entry without a value: {entry!r}", mend="write flag=value,flag=value")
                )
            self.flags[name.strip()] = (value.strip(), "THEANO_FLAGS")


def _split_flags(text: str) -> list[str]:
    # A comma inside brackets, braces or quotes belongs to the value.
    return [
        part.strip()
        for part in re.split(r""",(?=(?:[^"']|"[^"]*"|'[^']*')*$)(?![^\[{(]*[\]})])""", text)
        if part.strip()
    ]


def _rc_files(environ: Mapping[str, str]) -> list[str]:
    """Return the configuration files, the one that wins first."""
    text = environ.get("THEANORC", "~/.theanorc")
    paths = [os.path.expanduser(p) for p in text.split(os.pathsep) if p]
    return list(reversed(paths))


class _Section:
    """The flags under one dotted prefix; attribute access only."""

    __slots__ = ("_config", "_prefix")

    def __init__(self, config: Config, prefix: str) -> None:
        object.__setattr__(self, "_config", config)
        object.__setattr__(self, "_prefix", prefix)

    def __getattr__(self, name: str) -> Any:
        config: Config = object.__getattribute__(self, "_config")
        return config._get(f"{object.__getattribute__(self, '_prefix')}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        config: Config = object.__getattribute__(self, "_config")
        config._set(f"{object.__getattribute__(self, '_prefix')}.{name}", value)

    def __dir__(self) -> list[str]:
        start = object.__getattribute__(self, "_prefix") + "."
        config: Config = object.__getattribute__(self, "_config")
        return sorted(n[len(start) :].split(".")[0] for n in config._flags if n.startswith(start))


class Config:
    """All flags, as attributes: ``config.floatX``, ``config.gcc.cxxflags`` (also ``config.gcc__cxxflags``).

    Printing the object lists every flag with its meaning, allowed values and present value.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        object.__setattr__(self, "_flags", {})
        object.__setattr__(self, "_environ", os.environ if environ is None else environ)
        object.__setattr__(self, "_sources", None)

    _flags: dict[str, Flag]
    _environ: Mapping[str, str]
    _sources: _Sources | None

    def add_flag(
        self,
        name: str,
        doc: str,
        kind: FlagKind[Any],
        *,
        fixed: bool = False,
        on_change: Callable[[Any], None] | None = None,
    ) -> None:
        """Declare a flag.

        Parameters
        ----------
        name : str
            Dotted for flags in a section.
        doc : str
            One sentence for the user.
        kind : FlagKind
        fixed : bool
            Whether assignments in the program are refused: the flag only makes sense at start.
        on_change : callable, optional
            Told the value when it is first read and whenever it is set, so that hot code need not ask.

        Raises
        ------
        ConfigError
            If a flag of this name exists.
        """
        if name in self._flags:
            raise ConfigError(compose(f"flag `{name}` is declared twice"))
        self._flags[name] = Flag(name, doc, kind, fixed, on_change=on_change)

    def flag_names(self) -> list[str]:
        """Return the names of all declared flags, sorted."""
        return sorted(self._flags)

    def _loaded(self) -> _Sources:
        if self._sources is None:
            object.__setattr__(self, "_sources", _Sources.read(self._environ))
        assert self._sources is not None, "the sources have just been read"
        return self._sources

    def _get(self, name: str) -> Any:
        flag = self._flags.get(name)
        if flag is None:
            if any(other.startswith(name + ".") for other in self._flags):
                return _Section(self, name)
            raise self._unknown(name)
        if flag.source is None:
            given = self._loaded().flags.get(name)
            if given is None:
                flag.set(flag.kind.default(), "the default")
            else:
                flag.set(given[0], given[1])
        return flag.value

    def _set(self, name: str, value: Any, source: str = "an assignment") -> None:
        flag = self._flags.get(name)
        if flag is None:
            raise self._unknown(name)
        if flag.fixed:
            raise ConfigError(
                compose(
                    f"flag `{name}` cannot be changed once the program runs",
                    mend=f"start it with THEANO_FLAGS={name}={value}",
                )
            )
        flag.set(value, source)

    def _unknown(self, name: str) -> UnknownFlagError:
        close = difflib.get_close_matches(name, self._flags, n=1)
        return UnknownFlagError(
            compose(
                f"there is no configuration flag `{name}`",
                mend=f"did you mean `{close[0]}`?" if close else "print(config) lists all",
            )
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._get(name.replace("__", "."))

    def __setattr__(self, name: str, value: Any) -> None:
        self._set(name.replace("__", "."), value)

    def __dir__(self) -> list[str]:
        return sorted({n.split(".")[0] for n in self._flags} | {"add_flag", "change_flags", "flag_names"})

    @contextlib.contextmanager
    def change_flags(self, values: Mapping[str, Any] | None = None, /, **flags: Any) -> Iterator[None]:
        """Change flags for the duration of a block or of a decorated function.

        Parameters
        ----------
        values : mapping, optional
            Dotted names to values.
        **flags
            Flags by name; ``gcc__cxxflags`` stands for ``gcc.cxxflags``.

        Examples
        --------
        >>> from theano_graph import config
        >>> with config.change_flags():
        ...     pass
        """
        wanted = {**(values or {}), **{n.replace("__", "."): v for n, v in flags.items()}}
        before = {name: self._get(name) for name in wanted}
        done: list[str] = []
        try:
            for name, value in wanted.items():
                self._set(name, value, "change_flags")
                done.append(name)
            yield
        finally:
            for name in done:
                self._set(name, before[name])

    def unused_settings(self) -> list[str]:
        """Return one line for each setting in THEANO_FLAGS or a file that no layer has declared."""
        return [f"{n} (from {src})" for n, (_, src) in self._loaded().flags.items() if n not in self._flags]

    def __str__(self) -> str:
        lines = []
        for name in self.flag_names():
            flag = self._flags[name]
            value = self._get(name)
            lines.append(f"{name} ({flag.kind.allowed})\n    Doc:  {flag.doc}\n    Value:  {value}\n")
        return "\n".join(lines)


#: The configuration of the process.
config = Config()


def add_flag(
    name: str,
    doc: str,
    kind: FlagKind[Any],
    *,
    fixed: bool = False,
    on_change: Callable[[Any], None] | None = None,
) -> None:
    """Declare a flag of :data:`config`; see :meth:`Config.add_flag`."""
    config.add_flag(name, doc, kind, fixed=fixed, on_change=on_change)
