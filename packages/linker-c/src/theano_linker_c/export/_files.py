"""The files of an exported function: header, source with the functions that it calls, and a description."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from .._c_interface import called, function_name, functions_of, read_code, with_called
from .._version import __version__
from ..codegen.print import portable
from ..scalar import helper_definitions, special_functions
from ._body import Body, function_text
from ._interface import Parameter

# ---- Functions of our own that exported code calls; their text is copied into the file

#: Files of functions, and those of functions that there are for each of several types.
_FILES = ("routines.h", "random.h", "draws.h")
_TEMPLATES = ("products.h", "windows.h", "sorting.h", "lapack.h")
_REALS = (("float", "s"), ("double", "d"))
#: Types in memory, for functions that are there for each of them.
_KINDS_OF_NUMBERS = (*_REALS, *((f"{sign}int{bits}_t", "") for sign in ("", "u") for bits in (8, 16, 32, 64)))
_OF_ALL = ("theano_before", "theano_argsort")
#: For functions that there are for each of several widths of vectors: bytes, rows of a tile, and their runner.
_VECTORS = ((64, 8, "avx512f"), (32, 6, "avx2,fma"), (16, 4, ""))
_JOINED = 'optimize("fp-contract=fast")'

#: Tells the compiler that the turns of the next loop may run at the same time, where it takes such a hint.
INDEPENDENT = """\
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define THEANO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define THEANO_INDEPENDENT _Pragma("GCC ivdep")
#else
#define THEANO_INDEPENDENT
#endif
"""


@cache
def memory_types() -> str:
    """Return the types that a state with memory of its own needs."""
    return read_code("export", "memory.h")


@cache
def _functions() -> dict[str, str]:
    """Return the text of each function."""
    functions = dict(special_functions())
    for part in [part for name in _FILES for part in functions_of(read_code("export", name))]:
        functions[function_name(part)] = part
    for part in [part for name in _TEMPLATES for part in functions_of(read_code("export", name))]:
        name = function_name(part)
        if "NAME(" not in part:
            functions[name] = part
            continue
        for version in _versions(part):
            own = function_name(version)
            for kind, letter in _KINDS_OF_NUMBERS if name.startswith(_OF_ALL) else _REALS:
                text = re.sub(r"\bNAME\((\w+)\)", rf"\1_{kind}", version)
                text = re.sub(r"\bBLAS\((\w+)\)", rf"cblas_{letter}\1", text)
                functions[f"{own}_{kind}"] = re.sub(r"\bREAL\b", kind, text)
    return functions


def _versions(part: str) -> list[str]:
    """Return the text of a function for each width of vectors, if it stands for several."""
    if "THEANO_FOR_BYTES" not in part:
        return [part]
    return [_version(part, *how) for how in _VECTORS]


def _version(part: str, width: int, rows: int, features: str) -> str:
    """Return the text of a function for a width of vectors; products and sums may be joined in it."""
    joined = "#if defined(__clang__)\n#pragma clang fp contract(fast)\n#endif"
    text = re.sub(r" *\bTHEANO_JOINED\b", joined, part)
    text = re.sub(r"\bTILE_ROWS\b", str(rows), re.sub(r"BYTES\b", str(width), text))
    if not features:
        attribute = f"#if defined(__GNUC__) && !defined(__clang__)\n__attribute__(({_JOINED}))\n#endif"
        return text.replace(f"THEANO_FOR_{width}", attribute)
    comment, _, remainder = text.partition(f"THEANO_FOR_{width}\n")
    target = f'target("{features}")'
    attribute = (
        f"#if defined(__clang__)\n__attribute__(({target}))\n#else\n__attribute__(({target}, {_JOINED}))\n#endif"
    )
    head = "#if defined(__GNUC__) && defined(__x86_64__) && !defined(THEANO_PORTABLE)"
    return f"{comment}{head}\n{attribute}\n{remainder}\n#endif"


def definitions(names: Iterable[str]) -> list[str]:
    """Return the definitions of functions, and before each those of the functions that it calls."""
    return with_called(sorted(names), _functions())


# ---- Mathematical functions for vectors, which gcc calls in loops where the C library has them

#: Nobody asks for the error numbers and flags of mathematical functions; products and sums stay two operations.
OPTIONS = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math", "fp-contract=off")
#endif"""
#: The oldest version of the GNU C library that has them, for processors of the family x86_64.
_NEEDS = {
    (2, 22): ("cos", "exp", "log", "pow", "sin"),
    (2, 35): (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "erf", "erfc", "exp2", "expm1"),
        *("log10", "log1p", "log2", "sinh", "tan", "tanh"),
    ),
}
_TWO_ARGUMENTS = ("atan2", "pow")


def vector_functions(texts: Iterable[str]) -> list[str]:
    """Return declarations that let gcc call the vector functions of the C library, for the functions that texts call.

    Examples
    --------
    >>> for line in vector_functions(["y = expf(x);"]):
    ...     print(line)
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #if __GLIBC_PREREQ(2, 22)
    __attribute__((simd("notinbranch"), const)) float expf(float);
    #endif
    #endif
    """
    calls = {name for text in texts for name in called(text)}
    lines: list[str] = []
    for version, names in _NEEDS.items():
        declared = [
            _declared(name, kind, end) for name in names for kind, end in _KINDS_OF_VECTORS if name + end in calls
        ]
        if declared:
            lines += [f"#if __GLIBC_PREREQ({version[0]}, {version[1]})", *declared, "#endif"]
    if not lines:
        return []
    tests = ("__GNUC__", "__x86_64__", "__GLIBC__")
    first, *others = (f"defined({name})" for name in tests)
    return [f"#if {first} && !defined(__clang__) && {' && '.join(others)}", *lines, "#endif"]


_KINDS_OF_VECTORS = (("double", ""), ("float", "f"))


def _declared(name: str, kind: str, end: str) -> str:
    arguments = f"{kind}, {kind}" if name in _TWO_ARGUMENTS else kind
    return f'__attribute__((simd("notinbranch"), const)) {kind} {name}{end}({arguments});'


# ---- The files of an exported function: header, source, and a description for programs

#: State of more elements than this is no text in the source, but a file of its own.
EMBEDDED = 1_000_000
_IN_A_LINE = 6


def state_tag(body: Body) -> str:
    """Return sixteen characters that tell which variables a file of saved state is for."""
    listed = json.dumps([(s.name, s.dtype, s.shape) for s in body.states])
    return hashlib.sha256(listed.encode()).hexdigest()[:16]


def state_bytes(body: Body) -> bytes:
    """Return the contents of a file with the first values of the state."""
    parts = [state_tag(body).encode(), *(np.ascontiguousarray(s.value).tobytes() for s in body.states)]
    return b"".join(parts)


def embeds(body: Body) -> bool:
    """Tell whether the first values of the state are in the source."""
    return sum(s.size for s in body.states) <= EMBEDDED


def description(body: Body, name: str) -> dict[str, Any]:
    """Describe an exported function for programs that load it."""
    return {
        "format": 1,
        "made_by": f"theano-linker-c {__version__}",
        "function": name,
        "arguments": [p.as_json() for p in body.arguments],
        "results": [p.as_json() for p in body.results],
        "state": [p.as_json() for p in body.states],
        "state_file": None if embeds(body) else f"{name}.state",
        "memory_at_run_time": body.takes_memory,
        "messages": [str(message) for message in body.messages],
    }


def prototype(body: Body, name: str) -> str:
    """Return the declaration of the function."""
    parts = [f"{name}_state *state"]
    for parameter in body.arguments:
        parts += parameter.as_argument()
    for parameter in body.results:
        parts += parameter.as_result()
    return f"int {name}({', '.join(parts)})"


def _shown(text: str) -> str:
    """Return text without characters that only control how it is shown, and without halves of characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _string(text: str) -> str:
    """Return a literal of C for a text, in UTF-8."""
    plain = set(range(32, 127)) - set(b'"\\?')
    parts = (chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode("utf-8", "backslashreplace"))
    return f'"{"".join(parts)}"'


def _comment(lines: Sequence[str]) -> list[str]:
    safe = [_shown(line).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?") for line in lines]
    return ["/* " + safe[0], *(f" * {line}".rstrip() for line in safe[1:]), " */"]


def _about(body: Body, name: str) -> list[str]:
    lines = [f"{name}: a function that Theano has written as C.", ""]
    for title, parameters in (("Arguments", body.arguments), ("Results", body.results), ("State", body.states)):
        if parameters:
            lines += [f"{title}:", *(f"    {p.name} ({p.described()})" for p in parameters), ""]
    lines.append("Arrays are in C order, and those of arguments and results do not overlap. A call returns 0, or the")
    lines.append(f"number of an error, for which {name}_message has a text; results and state are not to be used then.")
    if any(not p.fixed for p in body.results):
        lines.append("Results whose lengths a call tells lie in memory of the state, up to the next call.")
    lines.append("Calls with different states may run at the same time.")
    return lines


def header_text(body: Body, name: str) -> str:
    """Return the header."""
    guard = re.sub(r"\W", "_", f"{name}_H").upper()
    fields = [f"    {s.c_type} {s.name}{f'[{max(s.size, 1)}]' if s.shape else ''};" for s in body.states]
    fields += [f"    {kind} arena_{kind}[{size}];" for kind, size in body.arenas.items()]
    if body.takes_memory:
        fields.append("    theano_memory memory;")
    lines = [
        *_comment(_about(body, name)),
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "#include <stdio.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *([memory_types().strip(), ""] if body.takes_memory else []),
        "/* The memory of a call besides its arguments. It may be large: keep it off the stack. */",
        "typedef struct {",
        *(fields or ["    char nothing;"]),
        f"}} {name}_state;",
        "",
        "/* Give a new state its first values. */",
        f"void {name}_init({name}_state *state);",
        "/* Write the variables of a state to a file, and read them again: 0, or -1 if that failed. A file of other",
        " * variables changes nothing; after one that is too short they have their first values. */",
        f"int {name}_save(const {name}_state *state, FILE *file);",
        f"int {name}_load({name}_state *state, FILE *file);",
        "/* Give back memory that calls have taken. */",
        f"void {name}_free({name}_state *state);",
        f"{prototype(body, name)};",
        "/* The text for the status of a call. */",
        f"const char *{name}_message(int status);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def definition_lines(body: Body) -> list[str]:
    """Return the definitions that a function needs before it."""
    tables = [_table(table, value) for table, value in body.tables.items()]
    used = definitions(body.routines)
    text = "\n".join([*body.preamble, *body.lines])
    helpers = [portable(part) for part in helper_definitions([text])]
    return [
        "#include <math.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
        *(["#ifdef THEANO_CBLAS", "#include <cblas.h>", "#endif"] if any("cblas_" in part for part in used) else []),
        OPTIONS,
        *vector_functions([text, *helpers, *used]),
        "",
        *([INDEPENDENT] if "THEANO_INDEPENDENT" in text else []),
        *tables,
        *helpers,
        *used,
        *body.preamble,
        "",
    ]


def source_text(body: Body, name: str) -> str:
    """Return the source."""
    parts = [
        *_comment([f"{name}: see {name}.h."]),
        f'#include "{name}.h"',
        *definition_lines(body),
        *function_text(prototype(body, name), name, body.lines),
        *_init(body, name),
        *_save(body, name),
        *_free(body, name),
        *_messages(body, name),
    ]
    return "\n".join(parts)


def _literals(value: Any) -> list[str]:
    array = np.asarray(value)
    if array.dtype == np.float16:
        array = array.view(np.uint16)
    kind, flat = array.dtype.kind, array.ravel()
    if kind == "b":
        return [str(int(number)) for number in flat]
    if kind == "f":
        suffix = "f" if array.dtype.itemsize == 4 else ""
        return [_real(number, suffix) for number in flat.tolist()] if suffix == "" else [_real(x, "f") for x in flat]
    if array.dtype == np.uint64:
        return [f"{number}ULL" for number in flat.tolist()]
    return ["(-9223372036854775807LL - 1)" if n == -(2**63) else f"{n}LL" for n in flat.tolist()]


def _real(number: Any, suffix: str) -> str:
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{float(number)!r}{suffix}" if suffix == "" else f"{np.format_float_scientific(number, unique=True)}f"


def _table(name: str, value: Any) -> str:
    array = np.asarray(value)
    kind = Parameter(name, name, array.dtype.name, array.shape).c_type
    numbers = _literals(array) or ["0"]
    rows = [", ".join(numbers[i : i + _IN_A_LINE]) for i in range(0, len(numbers), _IN_A_LINE)]
    body = ",\n    ".join(rows)
    return f"static const {kind} {name}[{max(array.size, 1)}] = {{\n    {body}\n}};"


def _init(body: Body, name: str) -> list[str]:
    lines: list[str] = []
    tables: list[str] = []
    for s in body.states:
        if not s.shape:
            lines.append(f"    state->{s.name} = {_literals(s.value)[0]};")
        elif not embeds(body) or not s.value.any():
            # All bits of a zero are zero, in all types that there are.
            lines.append(f"    memset(state->{s.name}, 0, sizeof state->{s.name});")
        else:
            tables.append(_table(f"{name}_first_{s.name}", s.value))
            lines.append(f"    memcpy(state->{s.name}, {name}_first_{s.name}, sizeof {name}_first_{s.name});")
    first = [f"static void {name}_first({name}_state *state) {{", *lines, "}", ""] if lines else []
    calls = [f"    {name}_first(state);"] if lines else []
    if body.takes_memory:
        calls.append("    state->memory.first = state->memory.now = NULL;")
    calls = calls or ["    (void)state;"]
    return [*tables, *first, f"void {name}_init({name}_state *state) {{", *calls, "}", ""]


def _save(body: Body, name: str) -> list[str]:
    tag = state_tag(body)
    fields = {s.name: f"state->{s.name}" if s.shape else f"&state->{s.name}" for s in body.states}
    writes = [f"    if (fwrite({at}, sizeof state->{n}, 1, file) != 1)\n        return -1;" for n, at in fields.items()]
    reads = [f"fread({at}, sizeof state->{n}, 1, file) != 1" for n, at in fields.items()]
    failed = " ||\n        ".join(reads)
    read = [f"    if ({failed}) {{", f"        {name}_first(state);", "        return -1;", "    }"]
    unused = [] if body.states else ["    (void)state;"]
    return [
        f"int {name}_save(const {name}_state *state, FILE *file) {{",
        *unused,
        f'    if (fwrite("{tag}", 1, 16, file) != 16)\n        return -1;',
        *writes,
        "    return 0;",
        "}",
        "",
        f"int {name}_load({name}_state *state, FILE *file) {{",
        "    char tag[16];",
        *unused,
        f'    if (fread(tag, 1, 16, file) != 16 || memcmp(tag, "{tag}", 16) != 0)\n        return -1;',
        *(read if reads else []),
        "    return 0;",
        "}",
        "",
    ]


def _free(body: Body, name: str) -> list[str]:
    lines = ["    (void)state;"]
    if body.takes_memory:
        lines = [
            "    theano_chunk *chunk = state->memory.first;",
            "    while (chunk != NULL) {",
            "        theano_chunk *const next = chunk->next;",
            "        free(chunk);",
            "        chunk = next;",
            "    }",
            "    state->memory.first = state->memory.now = NULL;",
        ]
    return [f"void {name}_free({name}_state *state) {{", *lines, "}", ""]


def _messages(body: Body, name: str) -> list[str]:
    texts = ["no error", *(str(message) for message in body.messages)]
    rows = [f"        {_string(text)}," for text in texts]
    return [
        f"const char *{name}_message(int status) {{",
        "    static const char *const texts[] = {",
        *rows,
        "    };",
        f'    return status >= 0 && status < {len(texts)} ? texts[status] : "no such error";',
        "}",
        "",
    ]


def as_json(about: Mapping[str, Any]) -> str:
    """Return the description as text."""
    return json.dumps(about, indent=2) + "\n"


__all__ = [
    "INDEPENDENT",
    "definitions",
    "memory_types",
    "OPTIONS",
    "vector_functions",
    "EMBEDDED",
    "description",
    "header_text",
    "source_text",
    "state_bytes",
    "state_tag",
]
