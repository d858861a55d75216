"""From the C code of nodes to the text of one file, in C or in C++, with the compiler's arguments."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from theano_graph import Apply, format_error

from ..compiler import CompileDirectory, CompileError, CompilerOptions, CompilerRun, Toolchain, digest, run_compiler
from ._node_code import LINES_OF_FILE, NAME, Arguments, Block, NodeCode

# ---- Compiling user-written code: the compiler, its arguments, and the language

#: Arguments of kernels that do not suit code with loops and libraries of its own.
_NOT_FOR_USERS = re.compile(r"-nostartfiles|-nodefaultlibs|-O[0-3sgz]?|-Ofast")


@cache
def python_include() -> str | None:
    """Return the folder of Python's headers, or None if they are not installed."""
    for name in ("include", "platinclude"):
        folder = sysconfig.get_path(name)
        if folder and os.path.exists(os.path.join(folder, "Python.h")):
            return folder
    return None


@cache
def abi_identity() -> str:
    """Return the dependencies of compiled code besides its source and the compiler: Python and NumPy."""
    return digest(str(sysconfig.get_config_var("SOABI")), sys.version, np.__version__, np.get_include())


def cpp_compiler(command: str) -> str:
    """Return the C++ compiler that belongs to a C compiler: g++ for gcc, clang++ for clang, versions kept.

    Where it is not found the C compiler itself serves, told the language; only the linking may then miss a library.
    """
    folder, name = os.path.split(command)
    if "++" in name:
        return command
    for pattern, replacement in ((r"\bgcc\b", "g++"), (r"\bclang\b", "clang++"), (r"^cc$", "c++")):
        changed = re.sub(pattern, replacement, name)
        candidate = os.path.join(folder, changed) if folder else changed
        if changed != name and shutil.which(candidate):
            return candidate
    return command


def compiler_arguments(toolchain: Toolchain, arguments: Arguments, options: CompilerOptions, cpp: bool) -> list[str]:
    """Return the arguments of the compiler for code of ops; the user's come last, and count."""
    plain = [a for a in toolchain.arguments if a in options.extra or not _NOT_FOR_USERS.fullmatch(a)]
    flags = [f"-I{folder}" for folder in (python_include(), np.get_include()) if folder]
    flags += ["-fvisibility=hidden", *(f"-I{folder}" for folder in arguments.header_dirs)]
    flags += [f"-L{folder}" for folder in arguments.lib_dirs]
    if sys.platform != "win32":
        flags += [f"-Wl,-rpath,{folder}" for folder in arguments.lib_dirs]
    if sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]  # Python's symbols are there when the code is loaded
    libraries = [f"-l{name}" for name in arguments.libraries]
    # Ops ask for levels of optimisation, too, which the flag takes away as well.
    added = [a for a in arguments.added if options.optimize or not a.startswith("-O")]
    everything = ["-O2" if options.optimize else "-g", *plain, *flags, *added, *libraries]
    if cpp and "++" not in os.path.basename(cpp_compiler(toolchain.command)):
        everything.append("-lstdc++")
    return [argument for argument in everything if argument not in arguments.removed]


def compile_unit(
    text: str, toolchain: Toolchain, arguments: Arguments, options: CompilerOptions, output: str, cpp: bool
) -> CompilerRun:
    """Run the compiler once for one file."""
    command = arguments.compiler if arguments.compiler and shutil.which(arguments.compiler) else None
    command = command or (cpp_compiler(toolchain.command) if cpp else toolchain.command)
    flags = compiler_arguments(toolchain, arguments, options, cpp)
    return run_compiler(command, flags, text, output, language="c++" if cpp else "c")


def refused(
    nodes: Sequence[Apply], text: str, messages: Sequence[tuple[str, str]], folder: CompileDirectory
) -> CompileError:
    """Keep the source, and return the error that names the ops whose code it is.

    Parameters
    ----------
    nodes : sequence of Apply
    text : str
        The file that the compiler refused last.
    messages : sequence of (str, str)
        Language and message of each try.
    folder : CompileDirectory
    """
    language = messages[-1][0]
    try:
        suffix = ".cpp" if language == "C++" else ".c"
        path = folder.write(text.encode(), "failed", digest(text)[:16] + suffix)
    except OSError as error:
        path = f"could not be kept ({error.strerror})"
    where = [f"{node.op}" + (f" applied at {node.origin}" if node.origin is not None else "") for node in nodes[:8]]
    where.append(f"source: {path}")
    for name, message in messages:
        errors = [line for line in message.splitlines() if "error" in line] or message.splitlines()
        where += [f"as {name}: {line}" for line in errors[:6]]
    names = ", ".join(dict.fromkeys(str(node.op) for node in nodes[:8]))
    return CompileError(
        format_error(
            f"the C code of {names} does not compile",
            context=where,
            hint="correct the op's C code; lines count from the beginning of the text of a method, as in"
            " `DoubleOp.c_code:3`, or of the source named above; without C code its `perform` is run",
        )
    )


# ---- From the C code of nodes to the text of one file, in C or in C++
#
# A thunk is a structure that begins with ``theano_thunk`` (see thunk.h). In C its functions are plain ones; in C++ they
# are members of the structure, so that code reaches the members that `c_support_code_struct` declares by their names.

_STREAM = re.compile(r"\bc(?:out|err|log)\b")
_RUN_ARGUMENTS = "PyObject *const *theano_inputs, PyObject **theano_outputs"


@cache
def prelude() -> str:
    """Return the text of thunk.h."""
    return files(__package__ or "").joinpath("thunk.h").read_text(encoding="utf-8")


def nested(blocks: Sequence[Block]) -> str:
    """Return blocks in each other; each is left through its label, which failing code jumps to."""
    declare = "".join(block.declare + "\n" for block in blocks)
    head = "".join(f"{{\n{block.enter}\n" for block in blocks)
    # A label needs a statement, which the code after it may not be.
    tail = "".join(f"{block.label}:;\n{block.leave}\n}}\n" for block in reversed(blocks))
    return declare + head + tail


def thunk_text(node_code: NodeCode, cpp: bool) -> str:
    """Return structure and functions of one thunk, without the code that it shares with others."""
    description = f"/* {_op_name(node_code)} */\n"
    support = "\n".join(node_code.support_apply)
    return description + support + "\n" + (_thunk_cpp(node_code) if cpp else _thunk_c(node_code))


def _op_name(node_code: NodeCode) -> str:
    """Return the name of the op's class: its text may hold an address, which would make each text another one."""
    return type(node_code.node.op).__name__


def _run_body(node_code: NodeCode, cpp: bool) -> str:
    inputs, outputs = list(dict.fromkeys(node_code.inputs)), node_code.outputs
    begin = ["int theano_failed = 0;"]
    for name in inputs:
        begin.append(f"PyObject *py_{name} = theano_inputs[{node_code.inputs.index(name)}];")
        begin.append(f"Py_INCREF(py_{name});")
    for k, name in enumerate(outputs):
        begin.append(f"PyObject *py_{name} = theano_outputs[{k}] == NULL ? Py_NewRef(Py_None) : theano_outputs[{k}];")
        begin.append(f"theano_outputs[{k}] = NULL;")
    blocks = list(node_code.blocks)
    if node_code.params is not None:
        begin.append(_params_object())
    op = blocks[-1]
    enter = f"{op.enter}\nif (PyErr_Occurred())\n    theano_failed = 1;"
    blocks[-1] = Block(op.label, op.declare, enter, op.leave)
    code = _guarded(blocks) if cpp else nested(blocks)
    end = ["if (PyErr_Occurred())", "    theano_failed = 1;", "if (theano_failed) {"]
    end.append(f'    theano_unexplained_failure("{_op_name(node_code)}");')
    end += [f"    Py_XDECREF(py_{name});" for name in outputs]
    end.append("} else {")
    end += [f"    theano_outputs[{k}] = py_{name};" for k, name in enumerate(outputs)]
    end.append("}")
    end += [f"Py_DECREF(py_{name});" for name in inputs]
    end.append("return theano_failed ? -1 : 0;")
    return "\n".join(begin) + "\n" + code + "\n".join(end) + "\n"


def _params_object() -> str:
    return f"PyObject *py_params_{NAME} = theano_params;"


def _guarded(blocks: Sequence[Block]) -> str:
    """Return nested blocks whose innermost one, the op's, lets no C++ exception out."""
    op = blocks[-1]
    enter = f"try {{\n{op.enter}\n{op.label}:;\n{op.leave}\n}}"
    handlers = """catch (const std::exception &theano_exception) {
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, theano_exception.what());
    theano_failed = 1;
} catch (...) {
    theano_unexplained_failure("C++ code");
    theano_failed = 1;
}"""
    return nested([*blocks[:-1], Block("theano_label_end", op.declare, enter + " " + handlers, "")])


def _init_body(node_code: NodeCode) -> str:
    """Return the code that runs once for each thunk."""
    if not node_code.init_struct:
        return "return 0;\n"
    blocks = [Block("theano_label_init", "", node_code.init_struct, "")]
    begin = "int theano_failed = 0;\n"
    if node_code.params is not None:
        begin += _params_object() + "\n"
        blocks.insert(0, node_code.params)
    end = "if (PyErr_Occurred())\n    theano_failed = 1;\n"
    end += f'if (theano_failed)\n    theano_unexplained_failure("{_op_name(node_code)}");\n'
    return begin + nested(blocks) + end + "return theano_failed ? -1 : 0;\n"


def _thunk_c(node_code: NodeCode) -> str:
    thunk = f"theano_thunk_{NAME}"
    params = "PyObject *theano_params = theano_self->theano_params;\n(void)theano_params;\n"
    return f"""
typedef theano_thunk {thunk};
static int {thunk}_run(theano_thunk *theano_self, {_RUN_ARGUMENTS}) {{
{params}{_run_body(node_code, cpp=False)}}}
static int {thunk}_init(theano_thunk *theano_self) {{
{params}{_init_body(node_code)}}}
static void {thunk}_free(theano_thunk *theano_self) {{
{node_code.cleanup_struct}
    Py_XDECREF(theano_self->theano_params);
    PyMem_Free(theano_self);
}}
{_maker(node_code, "PyMem_Calloc(1, sizeof(theano_thunk))", "_init(theano_self)", "PyMem_Free(theano_self)")}"""


def _thunk_cpp(node_code: NodeCode) -> str:
    thunk = f"theano_thunk_{NAME}"
    return f"""
struct {thunk} : public theano_thunk {{
{node_code.support_struct}
    int theano_run_members({_RUN_ARGUMENTS}) {{
{_run_body(node_code, cpp=True)}}}
    int theano_init_members() {{
{_init_body(node_code)}}}
    void theano_free_members() {{
{node_code.cleanup_struct}
    }}
}};
static int {thunk}_run(theano_thunk *theano_self, {_RUN_ARGUMENTS}) {{
    return static_cast<{thunk} *>(theano_self)->theano_run_members(theano_inputs, theano_outputs);
}}
static int {thunk}_init(theano_thunk *theano_self) {{
    return static_cast<{thunk} *>(theano_self)->theano_init_members();
}}
static void {thunk}_free(theano_thunk *theano_self) {{
    {thunk} *theano_own = static_cast<{thunk} *>(theano_self);
    theano_own->theano_free_members();
    Py_XDECREF(theano_own->theano_params);
    delete theano_own;
}}
{_maker(node_code, f"new {thunk}()", "_init(theano_self)", f"delete static_cast<{thunk} *>(theano_self)")}"""


def _maker(node_code: NodeCode, new: str, init: str, delete: str) -> str:
    """Return the function that makes a thunk: a capsule that frees it."""
    thunk = f"theano_thunk_{NAME}"
    return f"""THEANO_EXPORT PyObject *theano_make_{NAME}(PyObject *theano_params) {{
    if (theano_ready_unit() < 0)
        return NULL;
    theano_thunk *theano_self = (theano_thunk *){new};
    if (theano_self == NULL)
        return PyErr_NoMemory();
    theano_self->theano_run = {thunk}_run;
    theano_self->theano_free = {thunk}_free;
    theano_self->theano_params = theano_params == Py_None ? NULL : Py_NewRef(theano_params);
    theano_self->theano_n_inputs = {len(node_code.inputs)};
    theano_self->theano_n_outputs = {len(node_code.outputs)};
    if ({thunk}{init} < 0) {{
        Py_XDECREF(theano_self->theano_params);
        {delete};
        return NULL;
    }}
    PyObject *theano_capsule = PyCapsule_New(theano_self, THEANO_THUNK_NAME, theano_free_thunk);
    if (theano_capsule == NULL)
        {thunk}_free(theano_self);
    return theano_capsule;
}}
"""


_UNIT_BEGIN = """
#ifdef __cplusplus
#define THEANO_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define THEANO_EXPORT __attribute__((visibility("default")))
#endif
static int theano_ready_unit(void);
"""


def unit_text(named: Sequence[tuple[NodeCode, str]], cpp: bool) -> str:
    """Return a file with the thunks of several nodes.

    Parameters
    ----------
    named : sequence of (NodeCode, str)
        Each with the name that stands for its node in names of functions.
    cpp : bool
        Whether the file is C++.
    """
    headers = dict.fromkeys(h for node_code, _ in named for h in node_code.arguments.headers)
    pieces = [*(f"#include {_header(h)}" for h in headers), _UNIT_BEGIN]
    shared: dict[str, None] = {}
    for node_code, name in named:
        for text, content in zip(node_code.support, node_code.support_content, strict=True):
            if content not in shared:
                shared[content] = None
                pieces.append(text.replace(NAME, name))
        pieces.append(thunk_text(node_code, cpp).replace(NAME, name))
    statements = dict.fromkeys(text.replace(NAME, name) for node_code, name in named for text in node_code.init)
    pieces.append(_unit_init(list(statements)))
    body = "\n".join(pieces)
    # Streams double the time that compiling takes, so they are there only for code that uses them.
    streams = "#include <iostream>\n" if cpp and _STREAM.search(body) else ""
    lines = f"{prelude()}\n{streams}{body}".split("\n")
    numbered = (f'#line {k} "<stdin>"' if line == LINES_OF_FILE else line for k, line in enumerate(lines, 2))
    return "\n".join(numbered)


def _header(name: str) -> str:
    return name if name[:1] in '<"' else f'"{name}"'


def _unit_init(statements: Sequence[str]) -> str:
    """Return the code that runs when the file's machine code is loaded: once, before the first thunk is made."""
    body = "\n".join(statements)
    return f"""
static PyObject *theano_init_unit(void) {{
    import_array();
    {{
{body}
    }}
    return Py_None;
}}
static int theano_ready_unit(void) {{
    static int is_ready = 0;
    if (!is_ready)
        is_ready = theano_init_unit() != NULL && !PyErr_Occurred();
    if (!is_ready)
        theano_unexplained_failure("c_init_code");
    return is_ready ? 0 : -1;
}}
/* `storage` is None, or a tuple of the values in the cells of the outputs: None for nothing. */
THEANO_EXPORT PyObject *theano_call_thunk(PyObject *capsule, PyObject *inputs, PyObject *storage) {{
    theano_thunk *thunk = (theano_thunk *)PyCapsule_GetPointer(capsule, THEANO_THUNK_NAME);
    PyObject **outputs, *result;
    if (thunk == NULL)
        return NULL;
    if (!PyTuple_CheckExact(inputs) || PyTuple_GET_SIZE(inputs) != thunk->theano_n_inputs)
        return PyErr_Format(PyExc_TypeError, "a tuple of %d values is needed", thunk->theano_n_inputs);
    outputs = (PyObject **)PyMem_Calloc((size_t)thunk->theano_n_outputs + 1, sizeof(PyObject *));
    if (outputs == NULL)
        return PyErr_NoMemory();
    result = NULL;
    for (int k = 0; PyTuple_CheckExact(storage) && k < thunk->theano_n_outputs && k < PyTuple_GET_SIZE(storage); k++)
        outputs[k] = PyTuple_GET_ITEM(storage, k) == Py_None ? NULL : Py_NewRef(PyTuple_GET_ITEM(storage, k));
    if (thunk->theano_run(thunk, ((PyTupleObject *)inputs)->ob_item, outputs) == 0)
        result = PyTuple_New(thunk->theano_n_outputs);
    for (int k = 0; k < thunk->theano_n_outputs; k++) {{
        if (result != NULL)
            PyTuple_SET_ITEM(result, k, outputs[k]);
        else
            Py_XDECREF(outputs[k]);
    }}
    PyMem_Free(outputs);
    return result;
}}
"""
