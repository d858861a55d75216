"""Functions that are compiled for the kinds of their arguments, and results that are made once for each function."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial, update_wrapper
from inspect import Signature, signature
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, overload
from weakref import ref

import numpy as np

from theano_graph import format_error, is_library_module
from theano_linker_c import Mode
from theano_tensor.builders import traced

from ._programs import Lowered, guarded, inline, lower
from ._trees import Parameters, SymbolicArgument, exact, parts

# ---- `jit`: a function in plain Python, compiled for the kinds of arguments that it is called with

#: So many programs are kept; the oldest one goes when there are more.
N_PROGRAMS = 512

Program = Callable[..., Any]


class Jitted:
    """A function that is compiled for each kind of arguments; made by :func:`jit`.

    Attributes
    ----------
    static_argnames, donate : frozenset of str
    """

    # A call is that of the closure in the slot `__call__`, without a method of ours in between.
    __slots__ = (
        "__call__",
        "__dict__",
        "__weakref__",
        "_instances",
        "_options",
        "_owner",
        "_parameters",
        "_programs",
        "_target",
    )

    __call__: Callable[..., Any]

    def __init__(
        self,
        function: Callable[..., Any],
        target: Callable[..., Any],
        parameters: Parameters,
        options: dict[str, Any],
    ) -> None:
        self._target = target
        self._parameters = parameters
        self._options = options
        #: The class that it is a method of.
        self._owner: type | None = None
        #: For each kind the program, which takes leaves, and the function of calls of this kind if there is one.
        self._programs: dict[Hashable, tuple[Program, Program | None]] = {}
        self._instances: dict[int, tuple[Any, Jitted]] = {}
        update_wrapper(self, function)
        self._call_anyhow()

    @property
    def static_argnames(self) -> frozenset[str]:
        """Names of the arguments whose values the function sees as they are."""
        return self._parameters.static

    @property
    def donate(self) -> frozenset[str]:
        """Names of the arguments whose arrays may be overwritten."""
        return self._parameters.donate

    @property
    def _name(self) -> str:
        return str(self.__dict__.get("__name__") or type(self._target).__name__)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the graph of a call with these arguments, without compiling it.

        Raises
        ------
        TypeError
            If an argument is symbolic: call the function then.
        """
        args, kwargs = self._parameters.bind(args, kwargs)
        try:
            self._parameters.key(args, kwargs)
        except SymbolicArgument:
            raise TypeError(
                format_error(
                    f"{self._name}.lower: an argument is symbolic", hint="call the function: it returns variables"
                )
            ) from None
        return lower(self._target, self._name, self._parameters, args, kwargs, self._options)

    def clear(self) -> None:
        """Let go of all compiled programs."""
        self._programs.clear()
        self._instances.clear()
        self._call_anyhow()

    def _call_anyhow(self) -> None:
        """Let calls go the general way."""
        general = self._call

        def call(*args: Any, **kwargs: Any) -> Any:
            return general(args, kwargs)

        self.__call__ = call

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parameters = self._parameters
        if self._owner is not None and args and isinstance(args[0], self._owner) and parts(args[0]) is None:
            return self._of(args[0]).__call__(*args[1:], **kwargs)  # a call by way of the class
        args, kwargs = parameters.bind(args, kwargs)
        try:
            key, leaves = parameters.key(args, kwargs)
        except SymbolicArgument:
            return inline(self._target, self._name, parameters, args, kwargs)
        if traced() is not None:
            return inline(self._target, self._name, parameters, args, kwargs)
        entry = self._programs.get(key)
        if entry is None:
            lowered = lower(self._target, self._name, parameters, args, kwargs, self._options)
            if not lowered.is_closed():
                lowered.check_leaks()
                return inline(self._target, self._name, parameters, args, kwargs)
            program = lowered.program()
            guard = guarded(parameters, args, kwargs, program, self._call)
            # Threads that come here at one time compile both, and keep the first program.
            entry = self._programs.setdefault(key, (program, guard))
            _drop_oldest(self._programs, N_PROGRAMS)
        program, guard = entry
        if guard is not None:  # the next call is probably of the same kind
            self.__call__ = guard
        return program(*leaves)

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if parts(instance) is not None:
            return MethodType(self, instance)
        return _Bound(instance, self._of(instance))

    def _of(self, instance: Any) -> Jitted:
        """Return the function whose first argument is an object, known by identity as long as it lives."""
        entry = self._instances.get(id(instance))
        if entry is not None and entry[0]() is instance:
            return entry[1]
        key, instances = id(instance), self._instances
        try:
            held: Callable[[], Any] = ref(instance, lambda _: instances.pop(key, None))
        except TypeError:  # its class has slots, and none for weak references
            held = partial(_same, instance)
        target = self._target

        def method(*args: Any, **kwargs: Any) -> Any:
            return target(held(), *args, **kwargs)

        bound = Jitted(self.__dict__["__wrapped__"], method, self._parameters.without_first(), self._options)
        self._instances[key] = held, bound
        return bound

    def __reduce__(self) -> str:
        """Pickle and copy it as Python does functions: by its name in its module, and as itself."""
        return str(self.__dict__["__qualname__"])

    def __repr__(self) -> str:
        return f"<theano.jit of {self.__dict__.get('__qualname__', self._name)}>"


class _Bound:
    """A jitted method of an object that is no container."""

    __slots__ = ("__func__", "__self__")

    def __init__(self, instance: Any, function: Jitted) -> None:
        self.__self__ = instance
        self.__func__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__.__call__(*args, **kwargs)

    @property
    def __signature__(self) -> Signature:
        full_signature = signature(self.__func__)
        return full_signature.replace(parameters=list(full_signature.parameters.values())[1:])

    def __getattr__(self, name: str) -> Any:
        # `__wrapped__` is the function that takes the object, too.
        if name == "__wrapped__":
            raise AttributeError(name)
        return getattr(self.__func__, name)


def _same(value: Any) -> Any:
    return value


def _drop_oldest(programs: dict[Hashable, Any], bound: int) -> None:
    while len(programs) > bound:
        try:
            programs.pop(next(iter(programs)), None)
        except (RuntimeError, StopIteration):  # another thread has changed it
            return


@overload
def jit(
    function: Callable[..., Any],
    *,
    static_argnames: str | Iterable[str] = (),
    donate: str | Iterable[str] = (),
    mode: str | Mode | None = None,
) -> Jitted: ...
@overload
def jit(
    function: None = None,
    *,
    static_argnames: str | Iterable[str] = (),
    donate: str | Iterable[str] = (),
    mode: str | Mode | None = None,
) -> Callable[[Callable[..., Any]], Jitted]: ...
def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnames: str | Iterable[str] = (),
    donate: str | Iterable[str] = (),
    mode: str | Mode | None = None,
) -> Any:
    """Compile a function in plain Python, once for each kind of arguments that it is called with.

    The first call with arguments of some structure, dtypes and numbers of dimensions calls the function with symbolic
    variables in their place, and compiles the result by :func:`theano.function`. Later calls run that. One program
    serves arrays of all lengths but 1: which dimensions have length 1, and broadcast, is a part of the kind.

    Arguments are arrays, Python's numbers, None, and containers of these: tuples, lists, dictionaries, named tuples,
    dataclasses, and classes registered with :func:`theano.functional.parts`. A Python float is a scalar of dtype
    ``floatX``, an int one of int64, a bool one of bool, a complex one of complex128. A missing argument has its
    default, which the function sees as it is.

    Called with symbolic variables, or by a function that is being compiled, it acts as the plain function.

    Parameters
    ----------
    function : callable, optional
        Without it, the result is a decorator, for use with options. A method's object is static, known by
        identity, unless it is a container.
    static_argnames : str or iterable of str
        Arguments that the function sees as they are, such as texts, functions, and numbers that `if` and `range` ask
        for. There is a program for each value; values have a hash.
    donate : str or iterable of str
        Arguments whose arrays may be overwritten by results.
    mode : str or Mode, optional
        As of :func:`theano.function`.

    Returns
    -------
    Jitted
        It has the methods `lower` (the graph of a call) and `clear` (forget all programs).

    Raises
    ------
    TypeError
        If the function has no such parameter; when it is called, if an argument is of another kind, or Python asks for
        the value of a symbolic variable.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> import theano.tensor as T
    >>> @theano.jit
    ... def normalized(x):
    ...     return {"mean": x.mean(), "rest": x - x.mean()}
    >>> normalized(np.array([1.0, 3.0]))["rest"].tolist()
    [-1.0, 1.0]
    """
    if function is None:
        return partial(jit, static_argnames=static_argnames, donate=donate, mode=mode)
    if not callable(function):
        raise TypeError(format_error(f"jit: {function!r} is no function", hint="pass a function"))
    return Jitted(function, function, Parameters(function, static_argnames, donate), {"mode": mode})


# ---- A memo of derivatives, shared by functions of equal code: `grad(f)(x)` in a loop compiles once
#
# Each look-up compares the values that a function reads from around it. A function that reads a mutable object, such as
# an array, is not memoized: it is transformed anew each time.

#: Number of functions in the memo; beyond it, the least recently used one is dropped.
MEMO_SIZE = 256
_SAME = (type, BuiltinFunctionType, FunctionType, Jitted, np.ufunc, np.dtype)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.number, np.bool_)


class _Changing(Exception):
    """A function reads a value that may change without a trace."""


class Memo:
    """The jitted functions of functions, by their code and options.

    Examples
    --------
    >>> from theano.functional import grad
    >>> slopes = [grad(lambda x: x**2) for _ in range(2)]
    >>> slopes[0] is slopes[1]
    True
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._jitted: OrderedDict[Hashable, Jitted] = OrderedDict()

    def get(self, function: Callable[..., Any], options: tuple[Hashable, ...], make: Callable[[], Jitted]) -> Jitted:
        """Return the jitted function of an equal function, or make it."""
        try:
            key = (options, tuple(_read(function)))
        except _Changing:
            return make()
        jitted = self._jitted.pop(key, None) or make()
        self._jitted[key] = jitted
        while len(self._jitted) > self._bound:
            self._jitted.popitem(last=False)
        return jitted

    def clear(self) -> None:
        """Let go of all functions."""
        self._jitted.clear()


def _read(function: Any) -> Iterator[Hashable]:
    """Yield the dependencies of a function: its code, its defaults, and the values that it reads from around it."""
    functions = [function]
    numbers: dict[Any, int] = {function: 0}

    def number(value: Any) -> int:
        if value not in numbers:
            numbers[value] = len(functions)
            functions.append(value)
        return numbers[value]

    for item in functions:  # it grows on the way
        if isinstance(item, Jitted):
            yield item
            yield number(item.__dict__["__wrapped__"])
            continue
        if not isinstance(item, FunctionType):
            raise _Changing
        yield item.__code__
        for name, value in _values(item):
            if isinstance(value, (FunctionType, Jitted)) and not is_library_module(value.__module__):
                yield name, number(value)
            elif isinstance(value, _SAME) or (isinstance(value, ModuleType) and _is_settled(value.__name__)):
                yield name, value
            else:
                yield name, _exact(value)


def _values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for k, value in enumerate(function.__defaults__ or ()):
        yield f"default {k}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"default {name}", value
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"around {name}", cell.cell_contents
        except ValueError:  # it has no value yet
            raise _Changing from None
    for name in _names(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    pending = [code]
    while pending:
        inner = pending.pop()
        yield from inner.co_names
        pending += [x for x in inner.co_consts if isinstance(x, CodeType)]


def _is_settled(module: str) -> bool:
    """Tell whether a module is none of the user's, whose numbers change."""
    return is_library_module(module) or module.partition(".")[0] in sys.stdlib_module_names


def _exact(value: Any) -> Hashable:
    if isinstance(value, tuple) and type(value) is tuple:
        for item in value:
            _exact(item)
    elif not isinstance(value, _PLAIN):
        raise _Changing
    return exact(value)


#: Of the functions in `_derivatives`.
MEMO = Memo(MEMO_SIZE)
