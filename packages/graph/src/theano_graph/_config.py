"""The configuration: flags, their values, and changes that can be undone."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import os
import threading
import types
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from ._errors import ConfigError, UnknownFlagError, format_error
from ._flag_kinds import FLAGS_VARIABLE, FlagKind, Sources

# ---- Temporary changes of flags

P = ParamSpec("P")
R = TypeVar("R")


class Undo(Protocol):
    """Takes a change back."""

    def __call__(self) -> None:
        """Take it back."""
        ...


class ChangedFlags:
    """Context manager and decorator that changes flags; made by ``config.change_flags``.

    One object can be entered many times, also while it is entered, and in several threads. Leaving takes back this
    change alone: blocks that do not end in the reverse order of their beginnings (threads, suspended generators) leave
    nothing behind.

    Parameters
    ----------
    change : callable
        Makes all changes and returns a function that undoes them.
    values : mapping
        Names of flags to values.
    """

    def __init__(self, change: Callable[[Mapping[str, Any]], Undo], values: Mapping[str, Any]) -> None:
        self._change = change
        self._values = dict(values)
        # The entries of all threads: each makes the same change, so any of them may be taken back first.
        self._entered: list[Undo] = []

    def __getstate__(self) -> Any:
        return {"_change": self._change, "_values": self._values, "_entered": []}

    def __enter__(self) -> None:
        self._entered.append(self._change(self._values))

    def __exit__(self, *error: object) -> None:
        # Programs that keep one object for nested blocks leave it more often than they entered it.
        if self._entered:
            self._entered.pop()()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function` with the flags changed while it runs, for generators and coroutines: not while they wait.

        Raises
        ------
        TypeError
            If `function` is an asynchronous generator function or cannot be called.
        """
        if inspect.isasyncgenfunction(function) or not callable(function):
            raise TypeError(
                format_error(
                    f"change_flags cannot decorate {function!r}",
                    hint="decorate a function, a generator function or a coroutine function",
                )
            )
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
                return (yield from self._drive(function(*args, **kwargs)))

            return cast("Callable[P, R]", generate)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run(*args: P.args, **kwargs: P.kwargs) -> Any:
                return await types.coroutine(self._drive)(function(*args, **kwargs))

            return cast("Callable[P, R]", run)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return call

    def _drive(self, steps: Generator[Any, Any, Any] | Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run `steps` with the flags changed, and hand on its values with the flags as they were."""
        command: Callable[[Any], Any] = steps.send
        argument: Any = None
        while True:
            with self:
                try:
                    item = command(argument)
                except StopIteration as stop:
                    return stop.value
            try:
                argument = yield item
                command = steps.send
            except GeneratorExit:
                with self:
                    steps.close()
                raise
            # An exception thrown in belongs to the steps.
            except BaseException as error:  # noqa: BLE001
                command, argument = steps.throw, error


# ---- Flags and their values
#
# The value of a flag comes from the first of: an assignment in the program, the environment variable ``THEANO_FLAGS``
# (``flag=value`` separated by commas, the right-most wins), the files named in ``THEANORC`` (default ``~/.theanorc``,
# separated like ``PATH``, the right-most wins), and the default. A flag ``section.name`` is written in a file as
# ``name``
# under ``[section]``; flags without a section stand under ``[global]``. Sources are read on first use, never at import.

_DEFAULT = "the default"


@dataclass(eq=False, slots=True)
class _Value:
    """A checked value and where it comes from."""

    value: Any
    source: str


@dataclass(eq=False)
class Flag:
    """A declared flag, its value, and the changes for a while that lie over it, the latest last."""

    name: str
    doc: str
    kind: FlagKind[Any]
    fixed: bool
    on_change: Callable[[Any], None] | None = None
    base: _Value | None = None
    changes: list[_Value] = field(default_factory=list)
    current: _Value | None = None

    def checked(self, value: Any, source: str) -> _Value:
        """Parse and validate `value`."""
        try:
            return _Value(self.kind.checked(value), source)
        except (ValueError, TypeError):
            raise ConfigError(
                format_error(
                    f"flag `{self.name}` cannot be {value!r} (from {source})",
                    hint=f"give it {self.kind.allowed or 'an allowed value'}",
                )
            ) from None

    def set(self, value: Any, source: str) -> None:
        """Store a value: within a change for a while it counts until that ends."""
        new = self.checked(value, source)
        if self.changes:
            # In place, so that the end of the change finds it.
            self.changes[-1].value, self.changes[-1].source = new.value, new.source
        else:
            self.base = new
        self._settle()

    def push(self, change: _Value) -> None:
        """Let a value count until it is dropped."""
        self.changes.append(change)
        self._settle()

    def drop(self, change: _Value) -> None:
        """Forget a change, wherever it lies."""
        self.changes = [other for other in self.changes if other is not change]
        self._settle()

    def _settle(self) -> None:
        self.current = self.changes[-1] if self.changes else self.base
        if self.on_change is not None and self.current is not None:
            self.on_change(self.current.value)


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

    def _names(self) -> list[str]:
        start = object.__getattribute__(self, "_prefix") + "."
        config: Config = object.__getattribute__(self, "_config")
        return [name for name in config.flag_names() if name.startswith(start)]

    def __dir__(self) -> list[str]:
        start = len(object.__getattribute__(self, "_prefix")) + 1
        return sorted({name[start:].split(".")[0] for name in self._names()})

    def __repr__(self) -> str:
        config: Config = object.__getattribute__(self, "_config")
        return config._as_text(self._names())

    def _repr_html_(self) -> str:
        config: Config = object.__getattribute__(self, "_config")
        return config._as_html(self._names(), f"config.{object.__getattribute__(self, '_prefix')}")

    def __str__(self) -> str:
        config: Config = object.__getattribute__(self, "_config")
        return "\n".join(config._listed(name) for name in self._names())


class Config:
    """All flags, as attributes: ``config.floatX``, ``config.gcc.cxxflags`` (also ``config.gcc__cxxflags``).

    Printing the object, or a section of it, lists every flag with its meaning, allowed values, present value and where
    that comes from; its `repr`, in notebooks too, is a table. Values are those of the process: threads share
    them.

    Parameters
    ----------
    environ : mapping, optional
        Environment variables; those of the process by default.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        object.__setattr__(self, "_flags", {})
        object.__setattr__(self, "_sections", set())
        object.__setattr__(self, "_environ", os.environ if environ is None else environ)
        object.__setattr__(self, "_sources", None)
        object.__setattr__(self, "_lock", threading.RLock())

    _flags: dict[str, Flag]
    #: Sections: the part before a dot in the names of flags.
    _sections: set[str]
    _environ: Mapping[str, str]
    _sources: Sources | None
    _lock: threading.RLock

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
            If a flag of this name exists, or a section, or if the name is no dotted name.
        """
        if not all(part.isidentifier() and not part.startswith("_") for part in name.split(".")):
            raise ConfigError(format_error(f"{name!r} cannot be the name of a flag", hint="use words joined by dots"))
        if name in self._flags:
            raise ConfigError(
                format_error(
                    f"flag `{name}` is declared twice",
                    hint="import it from where it is declared, or choose another name",
                )
            )
        inside = [other for other in self._flags if other.startswith(name + ".") or name.startswith(other + ".")]
        if inside:
            raise ConfigError(
                format_error(
                    f"flags `{name}` and `{inside[0]}` cannot be both: one would be a section",
                    hint="choose another name",
                )
            )
        self._flags[name] = Flag(name, doc, kind, fixed, on_change=on_change)
        parts = name.split(".")
        self._sections.update(".".join(parts[:i]) for i in range(1, len(parts)))

    def flag_names(self) -> list[str]:
        """Return the names of all declared flags, sorted."""
        return sorted(self._flags)

    def flag(self, name: str) -> Flag:
        """Return the declaration of a flag.

        Raises
        ------
        UnknownFlagError
            If there is no such flag.
        """
        if name not in self._flags:
            raise self._unknown(name)
        return self._flags[name]

    def setting(self, name: str) -> str | None:
        """Return the text of a flag in the environment variable or the files; None if neither has it."""
        setting = self._loaded().get(name)
        return None if setting is None else setting.text

    def __reduce__(self) -> Any:
        # Flags are those of the process: a pickle names its configuration.
        return "config" if self is config else super().__reduce__()

    def _loaded(self) -> Sources:
        with self._lock:
            if self._sources is None:
                object.__setattr__(self, "_sources", Sources(self._environ))
            assert self._sources is not None, "the sources have just been read"
            return self._sources

    def _flag(self, name: str) -> Flag:
        """Return a declared flag that has a value."""
        flag = self._flags.get(name)
        if flag is None:
            raise self._unknown(name)
        if flag.current is None:
            with self._lock:
                setting = self._loaded().get(name)
                if flag.current is None:
                    text = flag.kind.default() if setting is None else setting.text
                    flag.set(text, _DEFAULT if setting is None else setting.source)
        return flag

    def _get(self, name: str) -> Any:
        if name in self._sections:
            return _Section(self, name)
        current = self._flag(name).current
        assert current is not None, "the flag has a value"
        return current.value

    def _changeable(self, name: str, value: Any) -> Flag:
        flag = self._flag(name)
        if flag.fixed:
            raise ConfigError(
                format_error(
                    f"flag `{name}` cannot be changed once the program runs",
                    hint=f"start it with {FLAGS_VARIABLE}={name}={value}",
                )
            )
        return flag

    def _set(self, name: str, value: Any) -> None:
        with self._lock:
            self._changeable(name, value).set(value, "an assignment")

    def _unknown(self, name: str) -> UnknownFlagError:
        if name in self._sections:
            return UnknownFlagError(
                format_error(
                    f"`{name}` is a section of the configuration, no flag", hint=f"print(config.{name}) lists it"
                )
            )
        return UnknownFlagError(format_error(f"there is no configuration flag `{name}`", hint=self._advice(name)))

    def _advice(self, name: str) -> str:
        names = {other.lower(): other for other in self._flags}
        close = difflib.get_close_matches(name.lower(), names, n=1)
        return f"did you mean `{names[close[0]]}`?" if close else "print(config) lists all"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._get(name.replace("__", "."))

    def __setattr__(self, name: str, value: Any) -> None:
        self._set(name.replace("__", "."), value)

    def __dir__(self) -> list[str]:
        methods = {"add_flag", "change_flags", "check_settings", "flag_names", "source_of", "unused_settings"}
        return sorted({n.split(".")[0] for n in self._flags} | methods)

    def change_flags(self, values: Mapping[str, Any] | None = None, /, **flags: Any) -> ChangedFlags:
        """Change flags for the duration of a block or of a decorated function.

        Parameters
        ----------
        values : mapping, optional
            Dotted names to values.
        **flags
            Flags by name; ``gcc__cxxflags`` stands for ``gcc.cxxflags``.

        Returns
        -------
        ChangedFlags
            A context manager and decorator. A decorated generator or coroutine has the flags changed while it runs,
            not while it waits.

        Raises
        ------
        ConfigError
            On entering, if a flag is unknown or fixed, or a value is not allowed; then no flag is changed.

        Examples
        --------
        >>> from theano_graph import config
        >>> with config.change_flags(compute_test_value="raise"):
        ...     config.compute_test_value
        'raise'
        """
        return ChangedFlags(self._change, {**(values or {}), **{n.replace("__", "."): v for n, v in flags.items()}})

    def _change(self, values: Mapping[str, Any]) -> Undo:
        with self._lock:
            checked: list[tuple[Flag, _Value]] = []
            for name, value in values.items():
                flag = self._changeable(name, value)
                checked.append((flag, flag.checked(value, "change_flags")))
            for flag, change in checked:
                flag.push(change)

        def undo() -> None:
            with self._lock:
                for flag, change in reversed(checked):
                    flag.drop(change)

        return undo

    def source_of(self, name: str) -> str:
        """Return where the value of a flag comes from: a variable, a file, an assignment, or the default.

        Raises
        ------
        UnknownFlagError
            If there is no such flag.
        """
        current = self._flag(name).current
        assert current is not None, "the flag has a value"
        return current.source

    def unused_settings(self) -> list[str]:
        """Return one line for each setting in THEANO_FLAGS or a file that no layer has declared."""
        seen = {name.lower() for name in self._flags}
        return [
            f"{s.name} (from {s.source})"
            for s in self._loaded().settings()
            if s.name not in self._flags and (s.source == FLAGS_VARIABLE or s.name.lower() not in seen)
        ]

    def check_settings(self) -> list[str]:
        """Read every setting of THEANO_FLAGS and the files, so that a mistake in them shows at start.

        Returns
        -------
        list of str
            One line for each setting in THEANO_FLAGS that no layer has declared, with a flag of a similar name if
            there is one. Files are shared between programs and may say more than this one knows.

        Raises
        ------
        ConfigError
            If a value is not allowed, or a source is not well-formed.
        """
        advice: list[str] = []
        for setting in self._loaded().settings():
            if setting.name in self._flags:
                self._flag(setting.name)
            elif setting.source == FLAGS_VARIABLE:
                advice.append(
                    f"{FLAGS_VARIABLE} sets `{setting.name}`, which is no flag and has no effect: "
                    + self._advice(setting.name)
                )
        return advice

    def _listed(self, name: str) -> str:
        flag = self._flags[name]
        source = self.source_of(name)
        lines = [f"{name} ({flag.kind.allowed})", f"    Doc:  {flag.doc}", f"    Value:  {self._get(name)}"]
        if source != _DEFAULT:
            lines.append(f"    From:  {source}")
        if flag.fixed:
            lines.append("    Cannot be changed once the program runs.")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return "\n".join(self._listed(name) for name in self.flag_names())

    def _rows(self, names: list[str]) -> list[tuple[str, str, str, str]]:
        return [(name, repr(self._get(name)), self.source_of(name), self._flags[name].doc) for name in names]

    def _as_text(self, names: list[str]) -> str:
        tables: Any = importlib.import_module("._printing._html", __package__)  # few programs print tables
        return str(tables.as_text(self._rows(names)))

    def _as_html(self, names: list[str], title: str) -> str:
        tables: Any = importlib.import_module("._printing._html", __package__)
        return str(tables.as_html(self._rows(names), title))

    def __repr__(self) -> str:
        return self._as_text(self.flag_names())

    def _repr_html_(self) -> str:
        return self._as_html(self.flag_names(), "config")


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
