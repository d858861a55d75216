"""Code as a part of a hash: functions and classes of users, and the modules that they read."""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dis import Instruction, get_instructions
from importlib.util import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .._errors import TheanoError, format_error, is_library


class NoStructuralHashError(TheanoError, ValueError):
    """Something in a graph has no content that could be compared between processes."""


# ---- Owners of modules, and importable names of functions and classes

_KNOWN_PACKAGES = frozenset({"numpy", "scipy", "builtins"})
#: Folders of the standard library: a program of the user may have a module of the same name.
#: `sysconfig` would read how Python was built first, which takes longer than all else here.
_FOLDER = os.path.dirname(os.__file__)
_FOLDERS = tuple({path + os.sep for path in (_FOLDER, _FOLDER.replace(sys.base_prefix, sys.base_exec_prefix, 1))})


def is_known_module(name: Any) -> bool:
    """Tell whether the code of a module is named by versions: the library's, Python's, or that of NumPy and SciPy."""
    if not isinstance(name, str) or name == "__main__":
        return False
    package = name.partition(".")[0]
    if package in _KNOWN_PACKAGES:
        return True
    module = sys.modules.get(name)
    # A module without a file may have been made from a table of its package, which is its origin.
    file = getattr(module, "__file__", None) or getattr(getattr(module, "__spec__", None), "origin", None)
    if package in sys.stdlib_module_names:
        # Built-in or compiled modules may be anywhere, and no code of them could be read.
        return file is None or _is_pythons(file)
    return file is not None and is_library(file)


def is_known_to_be_found(package: str) -> bool:
    """Tell whether a package, which need not have been loaded yet, is a known one."""
    if package in _KNOWN_PACKAGES or package in sys.modules or package not in sys.stdlib_module_names:
        return is_known_module(package)
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    # Built-in or frozen modules have no file.
    return spec is not None and (not spec.has_location or spec.origin is None or _is_pythons(spec.origin))


def _is_pythons(file: str) -> bool:
    """Tell whether a file is one of the standard library; other compiled ones cannot be read at any rate."""
    if not file.endswith((".py", ".pyc")):
        return True
    return file.startswith(_FOLDERS) and "-packages" + os.sep not in file


def global_name(value: Any) -> str | None:
    """Return the name by which each process finds a function or class; None where there is none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module is None and type(value).__name__ in ("builtin_function_or_method", "ufunc"):
        module, name = "numpy" if type(value).__name__ == "ufunc" else "builtins", getattr(value, "__name__", None)
    result: Any = sys.modules.get(module) if isinstance(module, str) else None
    if result is None or not isinstance(name, str):
        return None
    for part in name.split("."):
        result = getattr(result, part, None)
    return f"{module}:{name}" if result is value else None


def known_name(value: Any) -> str | None:
    """Return the name of a function or class whose code is named by versions; None for others."""
    name = global_name(value)
    return name if name is not None and is_known_module(name.partition(":")[0]) else None


# ---- Names that user code reads from user modules: imports inside functions, and `module.name`
#
# A module counts by those of its members that the code names. Where the code does anything else with the module, or
# where the module has not been loaded yet, nobody can tell the dependencies of the code.

#: Steps that stand between an import and where it is kept: `import a.b as c` takes `b` from `a`.
_BETWEEN = frozenset({"IMPORT_FROM", "SWAP", "ROT_TWO", "POP_TOP"})
#: Names by which code gets modules without an import statement.
_IMPORTING = frozenset({"__import__", "import_module"})
_LOADED = frozenset({"sys", "modules"})
_TAKES_MEMBER = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
#: Steps whose argument is no variable that is read, though it may be spelled like one. Of others it is.
_READS_NOTHING = frozenset(
    {
        "LOAD_ATTR",
        "LOAD_METHOD",
        "LOAD_SUPER_ATTR",
        "LOAD_CONST",
        "RETURN_CONST",
        "KW_NAMES",
        "MAKE_CELL",
        "LOAD_CLOSURE",
    }
    | {"STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "IMPORT_FROM", "STORE_FAST", "STORE_DEREF", "STORE_NAME"}
    | {"DELETE_FAST", "DELETE_DEREF", "DELETE_NAME", "STORE_FAST_STORE_FAST"}
)


class Taken:
    """The names that code takes from a module of the user's.

    Parameters
    ----------
    value : object
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def taken_from_modules(codes: Sequence[CodeType], names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names that the code of a function takes from modules of the user's: as written, and the value.

    Parameters
    ----------
    codes : sequence of CodeType
        That of the function and of those inside of it.
    names : mapping
        The globals of the function.

    Raises
    ------
    NoStructuralHashError
        If it uses such a module as a whole, or one that has not been loaded.
    """
    used = {name for code in codes for name in code.co_names}
    if used & _IMPORTING or used >= _LOADED:
        raise _no_import("")
    steps = [_steps(code) for code in codes]
    modules = {name: names[name] for code in codes for name in code.co_names if is_module_of_user(names.get(name))}
    for of_code in steps:
        for i, step in enumerate(of_code):
            if step.opname == "IMPORT_NAME":
                yield from _imported(of_code, i, names, modules)
    for variable, module in modules.items():
        for of_code in steps:
            yield from _used(of_code, variable, module)


def _steps(code: CodeType) -> list[Instruction]:
    """Return the steps of code without those for the cells of variables of inner functions.

    From Python 3.13 on, cells are loaded as other variables are; another step reads their contents.
    """
    cells = {*code.co_cellvars, *code.co_freevars}
    steps = [step for step in get_instructions(code) if step.opname != "EXTENDED_ARG"]
    return [step for step in steps if not (step.opname == "LOAD_FAST" and step.argval in cells)]


def is_module_of_user(value: Any) -> bool:
    """Tell whether a value is a module that versions do not name."""
    return isinstance(value, ModuleType) and not is_known_module(value.__name__)


def _taken(value: Any) -> Any:
    return f"module {value.__name__}" if isinstance(value, ModuleType) else Taken(value)


def _imported(
    steps: Sequence[Instruction], i: int, names: Mapping[str, Any], modules: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the imports of a step, and note the variables that are modules then."""
    # The constants before it say how many packages up the name starts, and which names are taken from the module.
    level, members = steps[i - 2].argval, steps[i - 1].argval
    name = str(steps[i].argval)
    if not level and is_known_to_be_found(name.partition(".")[0]):
        return
    if level:
        name = _absolute(name, level, names)
    module = _loaded(name)
    at = i + 1
    if members is not None:
        while steps[at].opname == "IMPORT_FROM":
            value = _member(module, steps[at].argval)
            variable = _kept(steps[at + 1])
            if is_module_of_user(value):
                _note(modules, variable, value)
            else:
                yield f"import {name}:{steps[at].argval}", _taken(value)
            at += 2
        if steps[at].opname != "POP_TOP":
            raise _no_import(name)
        return
    has_name = steps[at].opname == "IMPORT_FROM"
    while steps[at].opname in _BETWEEN:
        at += 1
    _note(modules, _kept(steps[at]), module if has_name else _loaded(name.partition(".")[0]))


def _absolute(name: str, level: int, names: Mapping[str, Any]) -> str:
    package = names.get("__package__")
    try:
        return resolve_name("." * level + name, package if isinstance(package, str) else "")
    except ImportError:
        raise _no_import(name) from None


def _loaded(name: str) -> ModuleType:
    module = sys.modules.get(name)
    # Modules of classes of their own may compute their attributes.
    if type(module) is not ModuleType:
        raise _no_import(name)
    package, _, last = name.rpartition(".")
    if package and vars(_loaded(package)).get(last) is not module:  # `import package.last as ...` takes that
        raise _no_import(name)
    return module


def _kept(step: Instruction) -> str:
    """Return the variable that a step writes."""
    if step.opname in ("STORE_FAST", "STORE_DEREF"):
        return str(step.argval)
    if step.opname == "STORE_FAST_LOAD_FAST":
        return str(step.argval[0])
    raise _no_import(f"{step.argval}")


def _note(modules: dict[str, Any], variable: str, module: ModuleType) -> None:
    if modules.setdefault(variable, module) is not module:
        raise _as_a_whole(module)


def _used(steps: Sequence[Instruction], variable: str, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the names that are taken from a module that a variable holds."""
    for i, step in enumerate(steps):
        if step.opname in _READS_NOTHING:
            continue
        if isinstance(step.argval, tuple):
            reads = step.argval[1:] if step.opname == "STORE_FAST_LOAD_FAST" else step.argval
            if variable not in reads:
                continue
            if reads.index(variable) != len(reads) - 1:
                raise _as_a_whole(module)
        elif step.argval != variable:
            continue
        value: Any = module
        path = module.__name__
        while is_module_of_user(value):
            i += 1
            if steps[i].opname not in _TAKES_MEMBER:
                raise _as_a_whole(value)
            path += f".{steps[i].argval}"
            value = _member(value, steps[i].argval)
        yield f"member {path}", _taken(value)


def _member(module: ModuleType, name: str) -> Any:
    """Return a module's attribute."""
    if type(module) is not ModuleType:
        raise _as_a_whole(module)
    if name in vars(module):
        return vars(module)[name]
    raise NoStructuralHashError(
        format_error(
            f"the code takes {name} from the module {module.__name__}, which has no such thing yet, "
            "so that nobody can tell on what it depends",
            hint=f"import {module.__name__}.{name} at the top of the module.",
        )
    )


def _no_import(name: str) -> NoStructuralHashError:
    what = f"the module {name}" if name else "a module"
    return NoStructuralHashError(
        format_error(
            f"the code imports {what} when it runs, so that nobody can tell on what it depends",
            hint="import at the top of the module what is used.",
        )
    )


def _as_a_whole(module: ModuleType) -> NoStructuralHashError:
    name = module.__name__
    return NoStructuralHashError(
        format_error(
            f"the code uses the module {name} as a whole, so that nobody can tell on what it depends",
            hint=f"import from it what is used: from {name} import ...",
        )
    )


# ---- Functions and classes of users: their bytecode, and all that it refers to
#
# Code of the library, of Python and of the numerical packages is named, not read: who compares hashes between processes
# compares the versions of these, too.

#: Parts of a class that have no effect on its behaviour, or that are found elsewhere.
_NO_CONTENT = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__", "_abc_impl", "__parameters__"}
    | {"__orig_bases__", "__static_attributes__", "__firstlineno__", "__annotations__", "__qualname__"}
)
#: Members that count by the functions inside of them.
_WRAPPERS = (staticmethod, classmethod, property)


def parts_of_class(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a class of the user, by name: its bases, its metaclass, and the members of its body."""
    yield "bases", cls.__bases__
    if known_name(type(cls)) is None:
        yield "metaclass", type(cls)
    for name, value in sorted(vars(cls).items()):
        if name in _NO_CONTENT or type(value).__name__ in ("member_descriptor", "getset_descriptor"):
            continue
        kind = type(value)
        if issubclass(kind, (staticmethod, classmethod)):
            yield f"{name} {kind.__name__}", value.__func__
        elif issubclass(kind, property):
            yield name, (value.fget, value.fset, value.fdel)
        else:
            yield name, value
        if issubclass(kind, _WRAPPERS) and known_name(kind) is None:
            yield f"kind of {name}", (kind, getattr(value, "__dict__", None))


def parts_of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a function of the user: its code, its defaults, and the values of the names that it uses.

    Raises
    ------
    NoStructuralHashError
        If it uses a module of the user's as a whole, or imports one that has not been loaded.
    """
    yield "defaults", function.__defaults__
    yield "keyword defaults", function.__kwdefaults__
    yield "attributes", {k: v for k, v in vars(function).items() if k != "__wrapped__"}
    for cell in function.__closure__ or ():
        try:
            yield "closure", cell.cell_contents
        except ValueError:
            yield "closure", None
    names: dict[str, None] = {}
    codes = list(codes_in(function.__code__))
    for code in codes:
        yield "code", (code.co_code, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        yield "names", (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        yield "constants", [c for c in code.co_consts if not isinstance(c, CodeType)]
        yield "exceptions", getattr(code, "co_exceptiontable", b"")
        names.update(dict.fromkeys(code.co_names))
    for name in names:
        if name in function.__globals__:
            yield name, _global(function.__globals__[name])
        elif name in vars(builtins) and known_name(vars(builtins)[name]) is None:  # put there by a program
            yield name, _global(vars(builtins)[name])
    yield from taken_from_modules(codes, function.__globals__)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions inside it."""
    waiting = [code]
    while waiting:
        value = waiting.pop()
        yield value
        waiting += [c for c in value.co_consts if isinstance(c, CodeType)]


def _global(value: Any) -> Any:
    """Return the hashed form of a global: a module by its name, since names taken from it are hashed besides."""
    return f"module {value.__name__}" if isinstance(value, ModuleType) else value
