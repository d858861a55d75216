"""Ops whose C code lies in files of its own, and C code of ops that the author of a type registers."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, MissingRuleError, Op, Type, format_error, record

from .._c_interface import type_number
from ..compiler import digest
from ._node_code import ask
from ._params import ParamsType

# ---- Ops whose C code lies in files of its own, divided into sections

#: The kinds of sections: the method ``c_<tag>`` of the op returns it.
SECTIONS = (
    "init_code",
    "init_code_apply",
    "init_code_struct",
    "support_code",
    "support_code_apply",
    "support_code_struct",
    "cleanup_code_struct",
    "code",
    "code_cleanup",
)
_MARKER = re.compile(r"^#section[ \t]+([A-Za-z0-9_]+)[ \t]*(?://.*)?$", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def read_sections(path: str, text: str, further: Sequence[str] = ()) -> dict[str, str]:
    """Divide the text of a file at its ``#section <tag>`` lines.

    Parameters
    ----------
    path : str
        Name of the file, for errors.
    text : str
    further : sequence of str
        Tags that are allowed besides those of :data:`SECTIONS`.

    Returns
    -------
    dict of str to str
        The code of each tag; sections with the same tag are joined.

    Raises
    ------
    ValueError
        If there is no section, an unknown tag, or code before the first section.
    """
    pieces = _MARKER.split(text)
    if len(pieces) == 1:
        raise ValueError(
            format_error(
                f"{path} has no section", hint=f"begin it with a line `#section <tag>`, tag {' or '.join(SECTIONS)}"
            )
        )
    if _COMMENT.sub("", pieces[0]).strip():
        raise ValueError(
            format_error(f"{path} has code before its first section", hint="move it below a line `#section <tag>`")
        )
    sections: dict[str, str] = {}
    for tag, code in zip(pieces[1::2], pieces[2::2], strict=True):
        if tag not in (*SECTIONS, *further):
            names = ", ".join((*SECTIONS, *further))
            raise ValueError(format_error(f"{path} has a section {tag!r}, which does not exist", hint=f"use {names}"))
        sections[tag] = sections.get(tag, "") + code
    return sections


class COp(Op):
    """An op with its C code in one or several files.

    Parameters
    ----------
    func_files : str or sequence of str
        Files with sections; relative to the folder of the file that defines the op's class. Sections with the same tag
        are joined in the order of the files.
    func_name : str, optional
        Function that does the work. It takes each input, then a pointer to each output, then the parameters where the
        op has any, and returns 0, or another number with a Python exception set. Without it there is a section `code`.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        If a file is not divided properly, or there is both a function and a section `code`.

    Examples
    --------
    ::

        class Scale(COp):
            __props__ = ()

            def __init__(self):
                super().__init__("scale.c", "APPLY_SPECIFIC(scale)")
    """

    #: Numbers of arguments that the function always gets; NULL stands for missing ones.
    _cop_num_inputs: ClassVar[int | None] = None
    _cop_num_outputs: ClassVar[int | None] = None
    check_input: bool = True
    #: Tags of sections of a subclass, whose code that uses itself.
    further_sections: ClassVar[tuple[str, ...]] = ()

    def __init__(self, func_files: str | Sequence[str], func_name: str | None = None) -> None:
        self.func_files = [func_files] if isinstance(func_files, str) else list(func_files)
        self.func_name = func_name
        self.code_sections = self.load_c_code(self.func_files)
        if func_name is not None and "code" in self.code_sections:
            raise ValueError(
                format_error(
                    f"{type(self).__qualname__} has a section `code` and a function {func_name}",
                    hint="leave out one of the two: the section is the place of the call",
                )
            )

    @classmethod
    def get_path(cls, name: str) -> str:
        """Return the full path of a file that is named relative to the folder of this class, or of one of its bases."""
        if os.path.isabs(name):
            return name
        folders = []
        for base in cls.__mro__:
            if base in (COp, Op, object):
                continue
            try:
                folders.append(os.path.dirname(os.path.abspath(inspect.getfile(base))))
            except (TypeError, OSError):
                continue  # defined where there is no file
        path = next((p for p in (os.path.join(f, name) for f in folders) if os.path.exists(p)), None)
        if path is None:
            raise FileNotFoundError(
                format_error(
                    f"{cls.__qualname__}: there is no file {name}",
                    context=[f"searched in {folder}" for folder in folders],
                    hint="give the path relative to the file that defines the class, or an absolute one",
                )
            )
        return os.path.realpath(path)

    def load_c_code(self, func_files: Sequence[str]) -> dict[str, str]:
        """Read files and return the code of each section, joined over the files."""
        sections: dict[str, str] = {}
        for name in func_files:
            path = self.get_path(name)
            with open(path, encoding="utf-8") as file:
                found = read_sections(path, file.read(), self.further_sections)
            for tag, code in found.items():
                sections[tag] = sections.get(tag, "") + code
        return sections

    # ---- macros

    def get_op_params(self) -> list[tuple[str, Any]]:
        """Return further macros, as pairs of name and value; those of the attribute `op_params` by default."""
        return list(getattr(self, "op_params", ()))

    def get_c_macros(self, node: Apply, name: str, check_input: bool | None = None) -> tuple[str, str]:
        """Return the macros that sections about one node may use: definitions, and their removal."""
        macros: dict[str, Any] = {"APPLY_SPECIFIC(str)": f"str##_{name}"}
        if self.check_input if check_input is None else check_input:
            for kind, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs)):
                for i, variable in enumerate(variables):
                    macros.update(_dtype_macros(kind, i, variable.type))
        macros.update(_params_macros(self.params_type))
        macros.update(dict(self.get_op_params()))
        return _definitions(macros)

    def get_sub_macros(self, sub: Mapping[str, str]) -> tuple[str, str]:
        """Return the macros FAIL and PARAMS."""
        macros = {"FAIL": sub["fail"].replace("\n", " ")}
        if "params" in sub:
            macros["PARAMS"] = sub["params"]
        return _definitions(macros)

    def get_io_macros(self, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[str, str]:
        """Return the macros INPUT_0, OUTPUT_0, ..."""
        names = {f"INPUT_{i}": name for i, name in enumerate(inputs)}
        return _definitions({**names, **{f"OUTPUT_{i}": name for i, name in enumerate(outputs)}})

    # ---- the C contract of ops

    def _section(self, tag: str, *macros: tuple[str, str]) -> str:
        if tag not in self.code_sections:
            raise MissingRuleError(f"{type(self).__qualname__} has no section {tag}")
        return self._surrounded(self.code_sections[tag], *macros)

    @staticmethod
    def _surrounded(code: str, *macros: tuple[str, str]) -> str:
        begin = "".join(define for define, _ in macros)
        return f"{begin}\n{code}\n{''.join(undefine for _, undefine in macros)}"

    def c_init_code(self) -> list[str]:
        """Return the section `init_code`."""
        return [self.code_sections["init_code"]] if "init_code" in self.code_sections else []

    def c_support_code(self) -> str:
        """Return the section `support_code`."""
        return self.code_sections.get("support_code", "")

    def c_init_code_apply(self, node: Apply, name: str) -> str:
        """Return the section `init_code_apply`."""
        return self._section("init_code_apply", self.get_c_macros(node, name))

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return the section `support_code_apply`."""
        return self._section("support_code_apply", self.get_c_macros(node, name))

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        """Return the section `support_code_struct`."""
        return self._section("support_code_struct", self.get_c_macros(node, name))

    def c_cleanup_code_struct(self, node: Apply, name: str) -> str:
        """Return the section `cleanup_code_struct`."""
        return self._section("cleanup_code_struct", self.get_c_macros(node, name))

    def c_init_code_struct(self, node: Apply, name: str, sub: Mapping[str, str]) -> str:
        """Return the section `init_code_struct`."""
        return self._section("init_code_struct", self.get_c_macros(node, name), self.get_sub_macros(sub))

    def c_code(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        """Return the call of the function, or the section `code`."""
        common = self.get_c_macros(node, name), self.get_sub_macros(sub)
        if self.func_name is None:
            return self._section("code", *common, self.get_io_macros(inputs, outputs))
        call = f"""{{
    if ({self.func_name}({self._arguments(inputs, outputs, sub)}) != 0) {{
        theano_unexplained_failure("{type(self).__name__}");
        FAIL
    }}
}}"""
        return self._surrounded(call, *common)

    def _arguments(self, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]) -> str:
        arguments = [*inputs, *["NULL"] * ((self._cop_num_inputs or 0) - len(inputs))]
        arguments += [f"&{name}" for name in outputs]
        arguments += ["NULL"] * ((self._cop_num_outputs or 0) - len(outputs))
        return ", ".join([*arguments, *([sub["params"]] if "params" in sub else [])])

    def c_code_cleanup(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        """Return the section `code_cleanup`."""
        macros = self.get_c_macros(node, name), self.get_sub_macros(sub), self.get_io_macros(inputs, outputs)
        return self._section("code_cleanup", *macros)

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return a version made of the contents of the files."""
        parts = [item for tag in sorted(self.code_sections) for item in (tag, self.code_sections[tag])]
        return (1, digest(*parts, str(self.func_name)))


def _definitions(macros: Mapping[str, Any]) -> tuple[str, str]:
    define = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    return define, "".join(f"#undef {name.partition('(')[0]}\n" for name in macros)


def _dtype_macros(kind: str, index: int, type_: Any) -> dict[str, Any]:
    dtype = getattr(type_, "dtype", None)
    if not isinstance(dtype, str):
        return {}
    return {
        f"DTYPE_{kind}_{index}": f"npy_{dtype}",
        f"TYPENUM_{kind}_{index}": type_number(dtype),
        f"ITEMSIZE_{kind}_{index}": np.dtype(dtype).itemsize,
    }


def _params_macros(params_type: Any) -> dict[str, Any]:
    if not isinstance(params_type, ParamsType):
        return {}
    elements = {
        f: ask(t, "c_element_type", default=None) for f, t in zip(params_type.fields, params_type.types, strict=True)
    }
    return {
        "PARAMS_TYPE": params_type.name,
        **{f"DTYPE_PARAM_{field}": value for field, value in elements.items() if value is not None},
    }


# ---- C code of ops for any type, which the author of a type registers


@record
class TypeCode:
    """C code of an op for one type.

    Attributes
    ----------
    code : str
        With ``%(iname)s``, ``%(oname)s`` and ``%(fail)s``, and further names that the op offers.
    version : tuple
        Empty: compiled code is not kept on disk.
    check_input : str
        Code of the same form that looks at the input first.
    support_code : str
        Code for the global scope.
    """

    code: str
    version: tuple[Hashable, ...] = ()
    check_input: str = ""
    support_code: str = ""


class TypeCodeTable:
    """The C code of one op, by the class of the type of its first input.

    Parameters
    ----------
    name : str
        Name of the op, for errors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._codes: dict[type, TypeCode] = {}

    def register(
        self, type_class: Any, code: str, version: Any = (), check_input: str = "", support_code: str | None = None
    ) -> None:
        """Say how the op is written in C for values of a type; a later registration replaces an earlier one.

        Parameters
        ----------
        type_class : type
            The class itself, not an instance; it counts for subclasses too.
        code : str
        version : int or tuple
        check_input, support_code : str

        Raises
        ------
        TypeError
            If `type_class` is no class of types.
        """
        if not isinstance(type_class, type) or not issubclass(type_class, Type):
            raise TypeError(
                format_error(
                    f"C code of {self.name} is registered for a class of types, not for {type_class!r}",
                    hint="pass the class, not an instance",
                )
            )
        versions = tuple(version) if isinstance(version, (tuple, list)) else (version,)
        self._codes[type_class] = TypeCode(code, versions, check_input, support_code or "")

    def get(self, type_: Type) -> TypeCode | None:
        """Return the code for a type, or None."""
        return next((self._codes[c] for c in type(type_).__mro__ if c in self._codes), None)

    def remove(self, type_class: type) -> None:
        """Take a registration back."""
        self._codes.pop(type_class, None)


class RegisteredCodeOp(Op):
    """An op whose C code the type of its first input registers; without a registration it has none."""

    type_code: ClassVar[TypeCodeTable]

    def type_code_of(self, node: Apply) -> TypeCode:
        """Return the code for the first input; NotImplementedError where there is none."""
        code = self.type_code.get(node.inputs[0].type)
        if code is None:
            raise NotImplementedError(f"no C code of {self} is registered for {node.inputs[0].type}")
        return code

    def c_code_names(
        self, node: Apply, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the names for code."""
        return {"iname": inputs[0], "oname": outputs[0], "fail": sub["fail"]}

    def c_code(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        """Return the registered code."""
        code, names = self.type_code_of(node), self.c_code_names(node, inputs, outputs, sub)
        return code.check_input % names + code.code % names

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return the registered code for the global scope."""
        return self.type_code_of(node).support_code % {"name": name}

    def c_code_cache_version_apply(self, node: Apply) -> tuple[Hashable, ...]:
        """Return the registered version."""
        code = self.type_code.get(node.inputs[0].type)
        return () if code is None else code.version
