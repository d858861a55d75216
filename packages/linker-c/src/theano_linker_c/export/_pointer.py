"""``c_pointer``: a compiled function as a C function in memory, with the signature of another program."""

from __future__ import annotations

import _ctypes
import ctypes
import os
import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import format_error, record

from .._cache import KernelCache
from .._function import Function
from ..compiler import (
    CompileDirectory,
    CompileError,
    CompilerOptions,
    MappedCode,
    Toolchain,
    build_lock,
    check_room,
    compile_error,
    digest,
    remove,
    run_compiler,
)
from ..kernels import library, memory_type, with_room
from ..straight import NoStraightForm
from ._body import Body, write_body
from ._files import header_text, source_text
from ._interface import CType, Parameter, Signature, check_shapes, name_of_dtype, parse_signature

# ---- C files that are compiled and loaded, and kept in the cache of compiled kernels

#: Arguments of kernels, which ask for their own optimisation and call no library, that do not suit whole files.
_FOR_KERNELS = re.compile(r"-nostartfiles|-nodefaultlibs|-O\w*|-fno-(?:ipa|tree|dse).*")


class CodeLibrary:
    """Files of C that this process has loaded.

    Attributes
    ----------
    compiler_runs : int
        Runs of the compiler since the library was made.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loaded: weakref.WeakValueDictionary[str, MappedCode] = weakref.WeakValueDictionary()
        self.compiler_runs = 0

    def renew_lock(self) -> None:
        """Start with a free lock, in a child after a fork."""
        self._lock = threading.RLock()

    def load(self, text: str, options: CompilerOptions | None = None, quick: bool = False) -> MappedCode:
        """Compile a file, unless that has been done before, and load it; `quick` asks for less effort.

        Raises
        ------
        CompileError
            If there is no compiler.
        """
        options = CompilerOptions.from_config() if options is None else options
        folder, toolchain = library.toolchain(options)
        if toolchain is None:
            raise CompileError(
                format_error(
                    "C code cannot be compiled: no C compiler works",
                    hint="install gcc or clang, or set THEANO_FLAGS=cxx=<path of a compiler>",
                )
            )
        arguments = _arguments(toolchain, options, quick)
        key = digest(text, toolchain.identity, *arguments)
        cache = KernelCache(folder, options.max_age, options.max_bytes)
        with self._lock:
            code = self._loaded.get(key) or _cached(cache, key)
            if code is None:
                with build_lock(folder, key, options.wait, options.timeout):
                    # Another process may have finished between our look and the lock.
                    code = _cached(cache, key) or with_room(
                        folder, lambda: self._compile(text, key, toolchain.command, arguments, cache, folder)
                    )
            self._loaded[key] = code
            return code

    def _compile(
        self, text: str, key: str, command: str, arguments: list[str], cache: KernelCache, folder: CompileDirectory
    ) -> MappedCode:
        output = folder.temporary_file(".so")
        try:
            run = run_compiler(command, arguments, text, output)
            self.compiler_runs += 1
            if not run.ok:
                check_room(run.message, output)
                raise compile_error(command, arguments, text, run.message, folder)
            # Loaded before it is published: from then on other processes may remove it at any time.
            code = MappedCode(output)
            path = cache.store(output, [key])
            if CompilerOptions.from_config().keep_sources:
                folder.write(text.encode(), "sources", os.path.basename(path).removesuffix(".so") + ".c")
        finally:
            remove(output)
        return code


def _arguments(toolchain: Toolchain, options: CompilerOptions, quick: bool) -> list[str]:
    arguments = [a for a in toolchain.arguments if a in options.extra or not _FOR_KERNELS.fullmatch(a)]
    level = "-O1" if quick else "-O3"
    return [level if options.optimize else "-O0", "-fvisibility=hidden", *arguments]


def _cached(cache: KernelCache, key: str) -> MappedCode | None:
    path = cache.find(key)
    if path is None:
        return None
    try:
        return MappedCode(path)
    except OSError:
        return None


#: The files of this process.
code_library = CodeLibrary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=code_library.renew_lock)


# ---- C functions with signatures of other programs, around an exported one

#: Name of the function with the wanted signature; that which tells messages is called the same, with an ending.
ENTRY = "theano_entry"
#: Temporary memory of more bytes than this is no part of the stack, but kept by each thread.
_ON_STACK = 32768
_HEAD = """\
#include <stdbool.h>
#if defined(__GNUC__)
#define THEANO_VISIBLE __attribute__((visibility("default")))
#else
#define THEANO_VISIBLE
#endif
static _Thread_local int theano_status;
"""


@record
class _Passing:
    """How values go in and out.

    Attributes
    ----------
    before : tuple of str
        Statements before the call.
    given : tuple of str
        The arguments of the call.
    after : tuple of str
        Statements after a call that has succeeded.
    failed : tuple of str
        Statements after one that has failed.
    """

    before: tuple[str, ...]
    given: tuple[str, ...]
    after: tuple[str, ...]
    failed: tuple[str, ...]


def natural_signature(body: Body) -> Signature:
    """Return the signature that the types of inputs and outputs give.

    Numbers are passed as such and arrays as pointers. One output that is a number is the result; other outputs are put
    where arguments point to.
    """
    arguments = [CType(_type_name(p), bool(p.shape), bool(p.shape)) for p in body.arguments]
    if len(body.results) == 1 and not body.results[0].shape:
        return Signature(CType(_type_name(body.results[0])), tuple(arguments))
    return Signature(CType("void"), (*arguments, *(CType(_type_name(p), True) for p in body.results)))


def _type_name(parameter: Parameter) -> str:
    name = name_of_dtype(parameter.dtype)
    if name is None:
        raise NoStraightForm(
            format_error(
                f"c_pointer: {parameter.described()} is of a dtype that C has no type for",
                hint="cast it to float32 in the function",
            )
        )
    return name


def adapted_text(body: Body, name: str, signature: Signature) -> str:
    """Return a source file with the function :data:`ENTRY`, which has the signature.

    Raises
    ------
    ValueError
        If the signature does not fit the inputs and outputs.
    """
    passing = _Adapter(body, signature).passing()
    arguments = ", ".join(_declared(kind, f"a{i}") for i, kind in enumerate(signature.arguments)) or "void"
    size = sum(count * np.dtype(_dtype_of(kind)).itemsize for kind, count in body.arenas.items())
    state = f"    {name}_state state;" if size <= _ON_STACK else f"    static _Thread_local {name}_state state;"
    source = source_text(body, name).replace(f'#include "{name}.h"', header_text(body, name))
    lines = [
        f"THEANO_VISIBLE {signature.result} {ENTRY}({arguments});",
        f"THEANO_VISIBLE const char *{ENTRY}_message(void);",
        f"{signature.result} {ENTRY}({arguments}) {{",
        state,
        "    int status;",
        *(f"    {line}" for line in passing.before),
        *([f"    {name}_init(&state);"] if body.takes_memory else []),
        f"    status = {name}({', '.join(['&state', *passing.given])});",
        *([f"    {name}_free(&state);"] if body.takes_memory else []),
        "    if (status != 0) {",
        "        theano_status = status;",
        *(f"        {line}" for line in passing.failed),
        "    }",
        *(f"    {line}" for line in passing.after),
        "}",
        "",
        f"const char *{ENTRY}_message(void) {{",
        "    const int status = theano_status;",
        "    theano_status = 0;",
        '    if (status < 0) return "the number of elements is not that of the input";',
        f"    return status ? {name}_message(status) : NULL;",
        "}",
        "",
    ]
    return "\n".join([source, _HEAD, *lines])


def _declared(kind: CType, name: str) -> str:
    return f"{kind}{name}" if kind.pointer else f"{kind} {name}"


def _dtype_of(kind: str) -> str:
    """Return a dtype whose elements are as long as those of an arena."""
    return {"float": "float32", "double": "float64"}.get(kind, kind.removesuffix("_t"))


class _Adapter:
    def __init__(self, body: Body, signature: Signature) -> None:
        self.body = body
        self.signature = signature
        arguments = list(enumerate(signature.arguments))
        # Whoever calls may hand on data of its own, which compiled functions have no use for.
        while arguments and arguments[-1][1].name == "void":
            arguments.pop()
        self.arguments = arguments

    def passing(self) -> _Passing:
        """Return how values go in and out."""
        if self._is_array_form():
            return self._array_form()
        inputs, results = self.body.arguments, self.body.results
        pointers = self.arguments[len(inputs) :]
        returned = len(results) - len(pointers)
        status = returned == 0 and self.signature.result.name == "int"
        if len(self.arguments) < len(inputs) or not (
            status or returned == (0 if self.signature.result.name == "void" else 1)
        ):
            raise self._misfit("counts differ")
        self._check_lengths(inputs)
        arguments = [self._input(p, f"a{i}", kind) for p, (i, kind) in zip(inputs, self.arguments, strict=False)]
        where = [self._target(p, f"a{i}", kind) for p, (i, kind) in zip(results[returned:], pointers, strict=True)]
        failed = [line for p, (i, _) in zip(results[returned:], pointers, strict=True) for line in _spoiled(p, f"a{i}")]
        if status:
            return _Passing((), (*arguments, *where), ("return 0;",), (*failed, "return status;"))
        before, after, value = self._returned(results[:returned])
        return _Passing(before, (*arguments, *value, *where), after, (*failed, self._return_on_error()))

    def _is_array_form(self) -> bool:
        """Tell whether the arguments are a number of elements and a pointer to them, as SciPy passes variables."""
        kinds = [kind for _, kind in self.arguments]
        if [kind.pointer for kind in kinds] != [False, True] or kinds[0].dtype not in ("int32", "int64", "uint64"):
            return False
        inputs = self.body.arguments
        return self.signature.result.name != "void" and not (
            len(inputs) == 2 and not inputs[0].shape and (inputs[1].shape or inputs[0].dtype.startswith("int"))
        )

    def _array_form(self) -> _Passing:
        inputs, results = self.body.arguments, self.body.results
        kind = self.signature.arguments[1]
        before, after, value = self._returned(results)
        one = len(inputs) == 1 and len(inputs[0].shape) == 1
        if one and inputs[0].shape[0] is None:
            self._check_dtype(inputs[0], kind)
            lengths = ("const int64_t lengths[1] = {(int64_t)a0};", *before)
            return _Passing(lengths, ("a1", "lengths", *value), after, (self._return_on_error(),))
        if one:
            count, arguments = inputs[0].size, [self._input(inputs[0], "a1", kind)]
        elif any(p.shape for p in inputs):
            raise self._misfit("an array of variables is for one vector, or for numbers")
        else:
            count = len(inputs)
            arguments = [self._input(p, f"a1[{i}]", CType(kind.name)) for i, p in enumerate(inputs)]
        error = self._return_on_error()
        check = f"if ((int64_t)a0 != {count}) {{\n        theano_status = -1;\n        {error}\n    }}"
        return _Passing((*before, check), (*arguments, *value), after, (error,))

    def _returned(self, results: Sequence[Parameter]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the declaration of the result, its return, and the argument of the call."""
        if not results:
            return (), (), ()
        (result,), kind = results, self.signature.result
        if result.shape:
            raise self._misfit(f"{result.described()} is an array, which C functions do not return")
        self._check_kind(result.dtype, kind.dtype, result)
        return (f"{memory_type(result.dtype)} value;",), (f"return ({kind.name})value;",), ("&value",)

    def _return_on_error(self) -> str:
        kind = self.signature.result
        if kind.name == "void":
            return "return;"
        return "return NAN;" if kind.dtype.startswith("float") else "return 0;"

    def _check_lengths(self, inputs: Sequence[Parameter]) -> None:
        unknown = [p.described() for p in inputs if not p.fixed]
        if unknown:
            raise NoStraightForm(
                format_error(
                    "c_pointer: the lengths of some inputs are not known",
                    context=unknown,
                    hint="give them by shapes={variable: (lengths, ...)}",
                )
            )
        open_ended = [p.described() for p in self.body.results if not p.fixed]
        if open_ended:
            raise NoStraightForm(
                format_error(
                    "c_pointer: the lengths of some results depend on values",
                    context=open_ended,
                    hint="use export_c, which tells lengths with each call",
                )
            )

    def _input(self, parameter: Parameter, name: str, kind: CType) -> str:
        if parameter.shape:
            self._check_dtype(parameter, kind)
            return f"(const {memory_type(parameter.dtype)} *){name}"
        self._check_kind(kind.dtype, parameter.dtype, parameter)
        return f"({memory_type(parameter.dtype)}){'*' if kind.pointer else ''}{name}"

    def _target(self, parameter: Parameter, name: str, kind: CType) -> str:
        if kind.const:
            raise self._misfit(f"{parameter.described()} is a result, but its pointer is const")
        self._check_dtype(parameter, kind)
        return f"({memory_type(parameter.dtype)} *){name}"

    def _check_dtype(self, parameter: Parameter, kind: CType) -> None:
        same = kind.dtype == parameter.dtype or {kind.dtype, parameter.dtype} == {"bool", "uint8"}
        if not kind.pointer or not same:
            raise self._misfit(f"{parameter.described()} is not passed as {kind}")

    def _check_kind(self, source: str, target: str, parameter: Parameter) -> None:
        wrong = not source or not target or "float16" in (source, target)
        if wrong or not np.can_cast(source, target, "same_kind"):
            raise self._misfit(f"{parameter.described()} is passed as another kind of number")
        # Floats are rounded, which the signature tells; integers would lose their leading bits.
        if np.dtype(target).kind in "iu" and not np.can_cast(source, target, "safe"):
            raise self._misfit(f"{parameter.described()} is passed as a number with another range")

    def _misfit(self, why: str) -> ValueError:
        inputs = ", ".join(p.described() for p in self.body.arguments)
        results = ", ".join(p.described() for p in self.body.results)
        return ValueError(
            format_error(
                f"signature: {self.signature} does not fit the function: {why}",
                context=[f"inputs: {inputs or 'none'}", f"outputs: {results}"],
                hint=f"use {natural_signature(self.body)}, or none, which means the same",
            )
        )


def _spoiled(parameter: Parameter, name: str) -> list[str]:
    """Return the statement that makes a result useless after an error."""
    value = "NAN" if parameter.dtype.startswith("float") else "0"
    return [f"for (int64_t i = 0; i < {parameter.size}; i++) {name}[i] = {value};"]


# ---- ``c_pointer``: a compiled function as a C function in memory

_NAME = "compiled"


class CFunction:
    """A C function in memory: a function object of ctypes.

    Its code stays loaded as long as the object exists: who keeps the address keeps the object, too.

    Attributes
    ----------
    signature : str
        The types of result and arguments, in C.
    code : MappedCode
        The machine code.
    """

    signature: str
    code: MappedCode

    if TYPE_CHECKING:

        def __call__(self, *arguments: Any) -> Any:
            """Call it without holding the interpreter's lock."""

    @property
    def address(self) -> int:
        """The address of the function."""
        return self.code.address(ENTRY)

    def message(self) -> str | None:
        """Return the message of the latest failed call of this thread since the last question; None if none failed."""
        ask = ctypes.CFUNCTYPE(ctypes.c_char_p)(self.code.address(f"{ENTRY}_message"))
        text = ask()
        return None if text is None else text.decode()

    def __repr__(self) -> str:
        return f"<C function {self.signature} at {self.address:#x}>"


@cache
def _class(signature: Signature) -> Any:
    # The types belong to the class: NumPy, SciPy and Numba ask for them, and a call converts its arguments by them.
    members = {
        "_flags_": _ctypes.FUNCFLAG_CDECL,
        "_restype_": signature.result.as_ctypes,
        "_argtypes_": tuple(kind.as_ctypes for kind in signature.arguments),
    }
    return type("CFunction", (CFunction, _ctypes.CFuncPtr), members)


def c_pointer(
    fn: Function, signature: str | None = None, *, shapes: Mapping[Any, Sequence[int]] | None = None
) -> CFunction:
    """Compile a function as a C function; see :meth:`Function.c_pointer`."""
    if fn.wiring.updates:
        raise NoStraightForm(
            format_error(
                "c_pointer: the function updates shared variables, but calls of a C function may run at the same time",
                hint="use export_c, whose state the caller keeps, or fn.copy(delete_updates=True)",
            )
        )
    signature_form = None if signature is None else parse_signature(signature)
    body = write_body(fn, _NAME, check_shapes(shapes), static=None, frozen=True)
    signature_form = natural_signature(body) if signature_form is None else signature_form
    code = code_library.load(adapted_text(body, _NAME, signature_form))
    function: CFunction = _class(signature_form)(code.address(ENTRY))
    function.signature, function.code = str(signature_form), code
    return function


__all__ = ["CodeLibrary", "code_library", "ENTRY", "adapted_text", "natural_signature", "CFunction", "c_pointer"]
