"""Questions to ops and types about their C code, and the parts of the code of one node."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from theano_graph import Apply, Generic, MissingRuleError, Op, RuleTable, Type, Variable, config, format_error, record

from .._c_interface import CLinkerType, Sub

# ---- Questions to ops and types about their C code: their part of the contract, in any of its signatures

#: C sides of types that have none of their own, by class.
c_interface: RuleTable[CLinkerType] = RuleTable("c_interface")


class NoCCode(Exception):
    """A node cannot be written in C; the text says why."""


class GenericInterface(CLinkerType):
    """The C side of any Python object: the variable is a ``PyObject *``."""

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the pointer."""
        return f"PyObject *{name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start without an object."""
        return f"{name} = NULL;\n"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Take a reference."""
        return f"Py_INCREF(py_{name});\n{name} = py_{name};\n"

    def c_sync(self, name: str, sub: Sub) -> str:
        """Hand the object over; NULL becomes None."""
        return f"""
{{
    PyObject *theano_result = {name} == NULL ? Py_None : {name};
    Py_INCREF(theano_result);
    Py_XDECREF(py_{name});
    py_{name} = theano_result;
}}
"""

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Let go of the reference."""
        return f"Py_XDECREF({name});\n"

    def c_code_cache_version(self) -> tuple[int, ...]:
        """Return the version of this code."""
        return (1,)


c_interface.register(Generic)(GenericInterface())


def method_of(owner: Any, name: str) -> Callable[..., Any] | None:
    """Return a method of an op or a type, or for a type that of its registered C side; None where there is none."""
    method = getattr(owner, name, None)
    if method is None and isinstance(owner, Type):
        method = getattr(c_interface.get(owner), name, None)
    # A base class may have methods that stand for undefined ones.
    return method if callable(method) and not getattr(method, "is_default", False) else None


def ask(owner: Any, name: str, *args: Any, default: Any) -> Any:
    """Call a method; `default` where it is not defined, or says itself that it is not."""
    method = method_of(owner, name)
    if method is None:
        return default
    try:
        return method(*args)
    except (MissingRuleError, NotImplementedError):
        return default


def require(owner: Any, name: str, *args: Any) -> str:
    """Call a method that returns C text.

    Raises
    ------
    NoCCode
        If there is none, or it does not apply to this case.
    """
    method = method_of(owner, name)
    if method is None:
        raise NoCCode(f"{type(owner).__qualname__} ({owner}) does not define {name}")
    try:
        return str(method(*args))
    except (MissingRuleError, NotImplementedError) as error:
        raise NoCCode(str(error) or f"{name} of {owner} does not apply here") from error


def require_checked(owner: Any, name: str, variable: str, sub: Sub, check_input: bool) -> str:
    """Call `c_declare`, `c_extract` or `c_extract_out`, in the form with `check_input` or in the one without."""
    method = method_of(owner, name)
    if method is not None and not _takes(method, variable, sub, check_input):
        return require(owner, name, variable, sub)
    return require(owner, name, variable, sub, check_input)


def ask_list(owner: Any, name: str, compiler: str) -> list[str]:
    """Call a method that returns a list and may want to know the compiler."""
    method = method_of(owner, name)
    if method is None:
        return []
    args = (compiler,) if _takes(method, compiler) else ()
    return texts(ask(owner, name, *args, default=()), owner, name)


def texts(texts: Any, owner: Any, name: str) -> list[str]:
    """Return a string, or a sequence of strings, as a list without empty ones.

    Raises
    ------
    TypeError
        For anything else.
    """
    items = [texts] if isinstance(texts, str) else texts
    if items is None:
        return []
    if not isinstance(items, Sequence) or not all(isinstance(item, str) for item in items):
        raise TypeError(
            format_error(
                f"{name} of {owner} gives {texts!r}",
                hint=f"return a string or a list of strings from {type(owner).__qualname__}.{name}",
            )
        )
    return [item for item in items if item.strip()]


def version_of(owner: Any) -> tuple[Any, ...]:
    """Return `c_code_cache_version()`; empty where it is not defined."""
    version = ask(owner, "c_code_cache_version", default=())
    return tuple(version) if isinstance(version, (tuple, list)) else (version,)


def _takes(method: Callable[..., Any], *args: Any) -> bool:
    """Tell whether a method can be called with so many positional arguments."""
    function = getattr(method, "__func__", None)
    return _accepts(method, len(args)) if function is None else _accepts(function, len(args) + 1)


@lru_cache(maxsize=1024)
def _accepts(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*(None,) * count)
    except (TypeError, ValueError):
        return False
    return True


# ---- The parts of the C code of one node, from its op and the types of its variables

#: Stands for the name of the node in its code, until the code is complete and named by its digest.
NAME = "theano_node_name"
PARAMS = f"params_{NAME}"
#: Words that only C++ has; code that uses it need not be tried as C.
_CPP = re.compile(
    r"\bstd::|\btemplate\s*<|\bnamespace\s+\w|\b(?:static|dynamic|const|reinterpret)_cast\s*<|\bnullptr\b|"
    r'^\s*#\s*include\s*(?:<[^.>]*>|[<"][^>"]*\.h(?:pp|h|xx)[>"])',
    re.MULTILINE,
)
#: Ends the text of a method: the lines after it are those of the file again, whose number is known in the end.
LINES_OF_FILE = "#line theano_file"
_NEEDED_FOR_INPUT = ("c_declare", "c_extract", "c_cleanup")


@record
class Block:
    """One level of nested code: declarations before all, actions on entering, and actions on leaving, failed or not."""

    label: str
    declare: str
    enter: str
    leave: str


@record
class Arguments:
    """The compiler's options for a node, besides its code."""

    headers: tuple[str, ...] = ()
    header_dirs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    lib_dirs: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    compiler: str | None = None


@record
class NodeCode:
    """The C code of a node, with :data:`NAME` for its name.

    Attributes
    ----------
    node : Apply
    inputs, outputs : tuple of str
        The C name of each input and output; an input that occurs twice has one name.
    blocks : tuple of Block
        Parameters, inputs, outputs and the op, outermost first.
    support, support_apply : tuple of str
        Code for the global scope; of any node, and of this one.
    support_struct, init_struct, cleanup_struct : str
        Members of the thunk, and code for its beginning and its end.
    params : Block or None
    init : tuple of str
        Statements for the loading of the code.
    arguments : Arguments
    version : tuple
        Empty where the code must not be kept on disk.
    languages : tuple of bool
        The languages to try, in order: True stands for C++, False for C.
    """

    node: Apply
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    blocks: tuple[Block, ...]
    support: tuple[str, ...]
    support_apply: tuple[str, ...]
    support_struct: str
    init_struct: str
    cleanup_struct: str
    params: Block | None
    init: tuple[str, ...]
    arguments: Arguments
    version: tuple[Any, ...]
    languages: tuple[bool, ...]

    @property
    def support_content(self) -> tuple[str, ...]:
        """Code for the global scope of any node, whichever class gives it."""
        return tuple(text.partition("\n")[2] for text in self.support)


def placed(text: str, owner: Any, method: str) -> str:
    """Return text of which the compiler says class, method and the line within the text."""
    return f'#line 1 "{type(owner).__name__}.{method}"\n{text}\n{LINES_OF_FILE}' if text.strip() else text


def failure(label: str) -> str:
    """Return the code that leaves for a label with the mark of failure set, on one line."""
    return f"{{ theano_failed = 1; goto {label}; }}"


def substitutions(label: str, has_params: bool = False) -> dict[str, str]:
    """Return the `sub` dictionary for code that fails to `label`."""
    sub = {"fail": failure(label), "failure_var": "theano_failed"}
    return {**sub, "params": PARAMS} if has_params else sub


def has_c_code(node: Apply) -> bool:
    """Tell whether the op of a node offers C code of its own, other than code for readers."""
    method = method_of(node.op, "c_code")
    return method is not None and not hasattr(method, "is_default")


def has_perform(op: Any) -> bool:
    """Tell whether an op can be run in Python."""
    perform = getattr(op, "perform", None)
    return perform is not None and getattr(perform, "__func__", perform) is not Op.perform


def node_code_of(node: Apply, params: Any, compiler: str) -> NodeCode:
    """Ask the op and the types for the code of a node.

    Parameters
    ----------
    node : Apply
    params : object
        Value of the op's parameters, or None for an op without.
    compiler : str
        Path of the compiler, for methods that want to know it.

    Raises
    ------
    NoCCode
        If the op or a type has no C code for this node.
    """
    op = node.op
    _refuse_half(node)
    ask(op, "prepare_c", default=None)
    names = _names(node)
    inputs = tuple(names[v] for v in node.inputs)
    outputs = tuple(names[v] for v in node.outputs)
    has_params = params is not None
    sub = substitutions("theano_label_op", has_params)
    # First of all: this is where an op says that it has no code for these types.
    code = require(op, "c_code", node, NAME, list(inputs), list(outputs), sub)
    check = bool(getattr(op, "check_input", True))
    params_block = None if params is None else _block(op.params_type, PARAMS, check, is_output=False)
    blocks = [] if params_block is None else [params_block]
    blocks += [_block(v.type, names[v], check, is_output=False) for v in dict.fromkeys(node.inputs)]
    blocks += [_block(v.type, names[v], check, is_output=True) for v in node.outputs]
    cleanup = ask(op, "c_code_cleanup", node, NAME, list(inputs), list(outputs), sub, default="")
    code, cleanup = placed(code, op, "c_code"), placed(cleanup, op, "c_code_cleanup")
    blocks.append(Block("theano_label_op", "", code, cleanup))
    types = _types(node, has_params)
    owners = [*types, op]
    init_sub = substitutions("theano_label_init", has_params)
    fields = {
        "support": _support(owners),
        "support_apply": _placed_texts(op, "c_support_code_apply", node, NAME),
        "support_struct": _joined(op, "c_support_code_struct", node, NAME),
        "init_struct": _joined(op, "c_init_code_struct", node, NAME, init_sub),
        "cleanup_struct": _joined(op, "c_cleanup_code_struct", node, NAME),
        "init": [t for owner in owners for t in texts(ask(owner, "c_init_code", default=()), owner, "c_init_code")]
        + texts(ask(op, "c_init_code_apply", node, NAME, default=""), op, "c_init_code_apply"),
    }
    arguments = _arguments(owners, compiler)
    return NodeCode(
        node=node,
        inputs=inputs,
        outputs=outputs,
        blocks=tuple(blocks),
        support=tuple(dict.fromkeys(fields["support"])),
        support_apply=tuple(fields["support_apply"]),
        support_struct=str(fields["support_struct"]),
        init_struct=str(fields["init_struct"]),
        cleanup_struct=str(fields["cleanup_struct"]),
        params=params_block,
        init=tuple(dict.fromkeys(fields["init"])),
        arguments=arguments,
        version=_version(node, types),
        languages=_languages(fields, blocks, arguments),
    )


def _refuse_half(node: Apply) -> None:
    """C has no arithmetic of 16-bit floats: only ops that say so know how to treat them."""
    if getattr(node.op, "_f16_ok", False):
        return
    for variable in (*node.inputs, *node.outputs):
        if getattr(variable.type, "dtype", None) == "float16":
            raise NoCCode(f"{node.op} has no C code for float16")


def _names(node: Apply) -> dict[Variable, str]:
    names: dict[Variable, str] = {}
    for variable in (*node.inputs, *node.outputs):
        names.setdefault(variable, f"V{len(names) + 1}")
    return names


def _block(type_: Any, name: str, check: bool, is_output: bool) -> Block:
    label = f"theano_label_{name}"
    sub = substitutions(label)
    declare = require_checked(type_, "c_declare", name, sub, check)
    cleanup = require(type_, "c_cleanup", name, sub)
    if not is_output:
        return Block(label, declare, require_checked(type_, "c_extract", name, sub, check), cleanup)
    sync = require(type_, "c_sync", name, sub)
    if method_of(type_, "c_extract_out") is not None:
        enter = require_checked(type_, "c_extract_out", name, sub, check)
    else:
        # An output may hold the value of an earlier call; a type without a rule for it starts afresh.
        enter = require(type_, "c_init", name, sub)
    return Block(label, declare, enter, f"if (!theano_failed) {{\n{sync}\n}}\n{cleanup}")


def _types(node: Apply, has_params: bool) -> list[Any]:
    types = dict.fromkeys(v.type for v in (*node.inputs, *node.outputs))
    return [*types, *([node.op.params_type] if has_params else [])]


def _support(owners: Sequence[Any]) -> list[str]:
    """Return the shared code of all, each text once, though several classes may give it."""
    code: dict[str, str] = {}
    for owner in owners:
        for text in texts(ask(owner, "c_support_code", default=""), owner, "c_support_code"):
            code.setdefault(text, placed(text, owner, "c_support_code"))
    return list(code.values())


def _placed_texts(op: Any, method: str, *args: Any) -> list[str]:
    return [placed(text, op, method) for text in texts(ask(op, method, *args, default=""), op, method)]


def _joined(op: Any, method: str, *args: Any) -> str:
    return "\n".join(_placed_texts(op, method, *args))


def _arguments(owners: Sequence[Any], compiler: str) -> Arguments:
    def collect(method: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item for owner in owners for item in ask_list(owner, method, compiler)))

    asked = [found for owner in owners if (found := ask(owner, "c_compiler", default=None)) is not None]
    return Arguments(
        headers=collect("c_headers"),
        header_dirs=collect("c_header_dirs"),
        libraries=collect("c_libraries"),
        lib_dirs=collect("c_lib_dirs"),
        added=collect("c_compile_args"),
        removed=collect("c_no_compile_args"),
        compiler=next((str(getattr(answer, "command", answer)) for answer in asked), None),
    )


def _version(node: Apply, types: Sequence[Any]) -> tuple[Any, ...]:
    """Return the versions of all that gave code; empty if one of them has none."""
    apply_version = ask(node.op, "c_code_cache_version_apply", node, default=None)
    op_version = version_of(node.op) if apply_version is None else tuple(apply_version)
    versions = [op_version, *(version_of(type_) for type_ in types)]
    return tuple(versions) if all(versions) else ()


def _languages(fields: dict[str, Any], blocks: Sequence[Block], arguments: Arguments) -> tuple[bool, ...]:
    """Members of a structure that code names without an object exist in C++ only; some headers and words ask for it."""
    if fields["support_struct"] or arguments.compiler is not None:
        return (True,)
    includes = "\n".join(f"#include {header}" for header in arguments.headers if header[:1] in '<"')
    body = "\n".join((*fields["support"], *fields["support_apply"], *(block.enter for block in blocks)))
    return (True, False) if _CPP.search(includes) or _CPP.search(body) else (False, True)


def warns_of_missing_version(node_code: NodeCode) -> bool:
    """Tell whether the user asked to hear of code that cannot be kept on disk, and this is such code."""
    return not node_code.version and bool(config.cmodule.warn_no_version)
