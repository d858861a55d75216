"""Several parameters of an op in one object: attributes in Python, fields of a structure in C."""

from __future__ import annotations

import keyword
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Type, format_error

from .._c_interface import CLinkerType, Sub
from ..compiler import digest
from ._enums import EnumNameError, EnumType, Number
from ._node_code import NoCCode, ask, ask_list, require, require_checked, texts, version_of

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Words of C and C++.
_C_WORD = re.compile(
    r"(?:alignas|alignof|asm|auto|bool|break|case|catch|char|class|const|constexpr|continue|"
    r"decltype|default|delete|do|double|else|enum|explicit|export|extern|false|float|for|"
    r"friend|goto|if|inline|int|long|mutable|namespace|new|noexcept|nullptr|operator|"
    r"private|protected|public|register|restrict|return|short|signed|sizeof|static|struct|"
    r"switch|template|this|throw|true|try|typedef|typeid|typename|typeof|union|unsigned|"
    r"using|virtual|void|volatile|while)"
)
_TYPEDEF = re.compile(r"\btypedef\b[^;]*;")
_DECLARED = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=[^,;]*)?(?=[,;])")


class Params:
    """Values for the fields of a :class:`ParamsType`, as attributes. They cannot be changed.

    Parameters
    ----------
    params_type : ParamsType
    **values
        One for each field.

    Raises
    ------
    TypeError
        If a field has no value, or a value no field.

    Examples
    --------
    >>> from theano_linker_c.scalar import ScalarType
    >>> Params(ParamsType(a=ScalarType("int32")), a=1).a
    1
    """

    __params_type__: ParamsType
    _values: dict[str, Any]

    def __init__(self, params_type: ParamsType, **values: Any) -> None:
        if not isinstance(params_type, ParamsType):
            raise TypeError(format_error(f"{params_type!r} is no ParamsType", hint="pass a ParamsType first"))
        missing = [name for name in params_type.fields if name not in values]
        unknown = [name for name in values if name not in params_type.fields]
        if missing or unknown:
            problems = [f"no value for {name}" for name in missing] + [f"there is no field {name}" for name in unknown]
            raise TypeError(
                format_error(f"values for {params_type}: {', '.join(problems)}", hint="give one value for each field")
            )
        object.__setattr__(self, "__params_type__", params_type)
        object.__setattr__(self, "_values", {name: values[name] for name in params_type.fields})

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"there is no parameter {name}; there are {', '.join(values)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"parameters cannot be changed ({name}); make others with ParamsType.get_params")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"parameters cannot be deleted ({name})")

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Params) or self.__params_type__ != other.__params_type__:
            return False
        return self.__params_type__.values_eq(self, other)

    def __hash__(self) -> int:
        marks = tuple(_mark(value) for value in self._values.values())
        return hash((type(self), self.__params_type__, marks))

    def __repr__(self) -> str:
        return f"Params({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"


def _mark(value: Any) -> Hashable:
    """Return something hashable that is equal for equal values."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    mark: Hashable = value
    return mark


class ParamsType(CLinkerType, Type):
    """Types under names: in Python an object with attributes, in C a pointer to a structure with fields.

    The default `get_params` of an op takes the op's attributes of these names. Constants of enumerations among the
    types are attributes of the type itself. It is a type of parameters only, not of variables.

    Parameters
    ----------
    **types : Type
        The type of each field.

    Raises
    ------
    TypeError
        If there is no field, or one whose type is no type.
    ValueError
        If a name is no identifier of Python and C, or two enumerations share the name of a constant or an alias.

    Examples
    --------
    >>> from theano_linker_c.scalar import ScalarType
    >>> wrapper = ParamsType(scale=ScalarType("float64"), mode=EnumType(SLOW=0, FAST=("quick", 1)))
    >>> wrapper.FAST, wrapper.enum_from_alias("quick"), wrapper.get_params(scale=2, mode="quick").mode
    (1, 1, 1)
    """

    #: Names of the fields, sorted, and their types in that order.
    fields: tuple[str, ...]
    types: tuple[Type, ...]
    #: Name of the structure in C.
    name: str

    def __init__(self, **types: Type) -> None:
        if not types:
            raise TypeError(
                format_error("ParamsType needs at least one field", hint="write ParamsType(a=ScalarType('int32'))")
            )
        for field, type_ in types.items():
            _check_field(field, type_)
        self.fields = tuple(sorted(types))
        self.types = tuple(types[field] for field in self.fields)
        self.length = len(self.fields)
        self._check_enums()
        self.name = "theano_params_" + digest(*(_mark_of_field(f, t) for f, t in self._fields_and_types()))[:16]

    @property
    def _enums(self) -> list[EnumType]:
        return [type_ for type_ in dict.fromkeys(self.types) if isinstance(type_, EnumType)]

    def _check_enums(self) -> None:
        constants: dict[str, EnumType] = {}
        aliases: dict[str, EnumType] = {}
        for enum in self._enums:
            for table, names, kind in ((constants, enum.constants, "constant"), (aliases, enum.aliases, "alias")):
                for name in names:
                    if name in table:
                        raise EnumNameError(
                            format_error(
                                f"two enumerations in one ParamsType have the same {kind} {name}",
                                context=[str(table[name]), str(enum)],
                                hint="rename one of the two",
                            )
                        )
                    table[name] = enum

    def __getattr__(self, name: str) -> Number:
        if "types" in self.__dict__:
            for enum in self._enums:
                if name in enum.constants:
                    return enum.constants[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name}, and none of its enumerations a constant")

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, ParamsType)
            and (self.fields, self.types) == (other.fields, other.types)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.fields, self.types))

    def __str__(self) -> str:
        return f"ParamsType<{', '.join(f'{f}:{t}' for f, t in zip(self.fields, self.types, strict=True))}>"

    __repr__ = __str__

    # ---- types and constants

    def has_type(self, theano_type: Type) -> bool:
        """Tell whether a field has this type."""
        return theano_type in self.types

    def get_type(self, field_name: str) -> Type:
        """Return the type of a field; KeyError if there is no such field."""
        if field_name not in self.fields:
            raise KeyError(f"there is no field {field_name!r}; there are {', '.join(self.fields)}")
        return self.types[self.fields.index(field_name)]

    def get_field(self, theano_type: Type) -> str:
        """Return the name of the first field, by the alphabet, that has a type; ValueError if there is none."""
        if theano_type not in self.types:
            raise ValueError(
                format_error(
                    f"no field of {self} has the type {theano_type}", hint="ask `has_type` where it may be missing"
                )
            )
        return self.fields[self.types.index(theano_type)]

    def get_enum(self, key: str) -> Number:
        """Return the value of a constant of one of the enumerations.

        Raises
        ------
        ValueError
            If there is no enumeration, or none with this constant.
        """
        for enum in self._need_enums():
            if key in enum.constants:
                return enum.constants[key]
        raise ValueError(
            format_error(
                f"no enumeration of {self} has a constant {key!r}",
                hint=f"use one of {', '.join(name for enum in self._enums for name in enum.constants)}",
            )
        )

    def enum_from_alias(self, alias: str) -> Number:
        """Return the value of the constant with an alias, or, where there is none, with this name; else ValueError."""
        for enum in self._need_enums():
            if enum.has_alias(alias):
                return enum.fromalias(alias)
        return self.get_enum(alias)

    def _need_enums(self) -> list[EnumType]:
        if not self._enums:
            raise ValueError(format_error(f"{self} has no enumeration", hint="give one of the fields an EnumType"))
        return self._enums

    # ---- values

    def get_params(self, *objects: Any, **kwargs: Any) -> Params:
        """Collect a value for each field and convert it to the field's type.

        Parameters
        ----------
        *objects : object
            Looked at for attributes with the names of fields; later ones win.
        **kwargs
            Values by name, which win over attributes.

        Raises
        ------
        TypeError
            If a field gets no value, or one that its type refuses.
        """
        parameters: dict[str, Any] = {}
        for source in objects:
            parameters.update({field: getattr(source, field) for field in self.fields if hasattr(source, field)})
        parameters.update(kwargs)
        return self.filter(Params(self, **parameters), strict=False, allow_downcast=True)

    def extended(self, **kwargs: Type) -> ParamsType:
        """Return a type with more fields, or other types for present ones."""
        return ParamsType(**{**dict(zip(self.fields, self.types, strict=True)), **kwargs})

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Params:
        """Return parameters whose values are of the types of their fields.

        Raises
        ------
        TypeError
            If `value` is no Params object of these fields, or a field's type refuses a value.
        ValueError
            If a field's type refuses a value of the right kind.
        """
        if not isinstance(value, Params) or value.__params_type__.fields != self.fields:
            raise TypeError(
                format_error(
                    f"{value!r} of type {type(value).__name__} holds no values for {self}",
                    hint="make it with `get_params` of this ParamsType",
                )
            )
        filtered = {
            field: type_.filter(getattr(value, field), strict=strict, allow_downcast=allow_downcast)
            for field, type_ in zip(self.fields, self.types, strict=True)
        }
        same = value.__params_type__ == self and all(filtered[f] is getattr(value, f) for f in self.fields)
        return value if same else Params(self, **filtered)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Tell whether all values are equal, as the types of their fields see it."""
        return all(t.values_eq(getattr(a, f), getattr(b, f)) for f, t in zip(self.fields, self.types, strict=True))

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Tell whether all values are equal up to rounding."""
        pairs = zip(self.fields, self.types, strict=True)
        return all(t.values_eq_approx(getattr(a, f), getattr(b, f)) for f, t in pairs)

    # ---- C

    def _fields_and_types(self) -> list[tuple[str, Type]]:
        return list(zip(self.fields, self.types, strict=True))

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the pointer to the structure."""
        return f"{self.name} *{name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start without values."""
        return f"{name} = NULL;\n"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Fill a structure from the attributes; it has a place of its own, since its pointer may be copied."""
        return f"""
{name} = ({self.name} *)PyMem_Malloc(sizeof({self.name}));
if ({name} == NULL) {{
    PyErr_NoMemory();
    {sub["fail"]}
}}
if ({self.name}_extract({name}, py_{name}) < 0) {{
    PyMem_Free({name});
    {name} = NULL;
    {sub["fail"]}
}}
"""

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Let go of the values and of the structure."""
        return f"""
if ({name} != NULL) {{
    {self.name}_cleanup({name}, {self.length});
    PyMem_Free({name});
}}
"""

    def c_support_code(self) -> Sequence[str]:
        """Return the code of the types, the structure, and the functions that fill and empty it."""
        return [
            *self._collected("c_support_code"),
            self._structure(),
            self._cleanup_function(),
            self._extract_function(),
        ]

    def _structure(self) -> str:
        members = "".join(_members(field, type_) for field, type_ in self._fields_and_types())
        return f"typedef struct {self.name} {{\n{members}}} {self.name};\n"

    def _cleanup_function(self) -> str:
        """Return the function that frees the first `count` fields."""
        body = ""
        for i, (field, type_) in enumerate(self._fields_and_types()):
            cleanup = require(type_, "c_cleanup", field, _SUB)
            if cleanup.strip():
                load = _copies(field, type_, to_struct=False)
                body += f"if (count > {i}) {{\n{_declare(field, type_)}{load}{cleanup}\n}}\n"
        return f"static void {self.name}_cleanup({self.name} *theano_struct, int count) {{\n{body}}}\n"

    def _extract_function(self) -> str:
        """Return the function that reads all fields; after a failure it frees those it has read."""
        body = ""
        for i, (field, type_) in enumerate(self._fields_and_types()):
            sub = {**_SUB, "fail": f"{{ theano_failed = 1; goto theano_label_{i}; }}"}
            extract = require_checked(type_, "c_extract", field, sub, True)
            body += f"""{{
    PyObject *py_{field} = PyObject_GetAttrString(theano_object, "{field}");
{_declare(field, type_)}
    if (py_{field} == NULL) {{
        {self.name}_cleanup(theano_struct, {i});
        return -1;
    }}
    {{
{extract}
    }}
theano_label_{i}:;
{_copies(field, type_, to_struct=True)}
    Py_DECREF(py_{field});
    if (theano_failed) {{
        {self.name}_cleanup(theano_struct, {i + 1});
        return -1;
    }}
}}
"""
        return f"""static int {self.name}_extract({self.name} *theano_struct, PyObject *theano_object) {{
    int theano_failed = 0;
{body}    return 0;
}}
"""

    def _collected(self, method: str) -> list[str]:
        return [t for type_ in self.types for t in texts(ask(type_, method, default=""), type_, method)]

    def _lists(self, method: str, compiler: str) -> list[str]:
        return list(dict.fromkeys(item for type_ in self.types for item in ask_list(type_, method, compiler)))

    def c_headers(self, c_compiler: str = "") -> Sequence[str]:
        """Return the headers of the types."""
        return self._lists("c_headers", c_compiler)

    def c_header_dirs(self, c_compiler: str = "") -> Sequence[str]:
        """Return the folders of headers of the types."""
        return self._lists("c_header_dirs", c_compiler)

    def c_libraries(self, c_compiler: str = "") -> Sequence[str]:
        """Return the libraries of the types."""
        return self._lists("c_libraries", c_compiler)

    def c_lib_dirs(self, c_compiler: str = "") -> Sequence[str]:
        """Return the folders of libraries of the types."""
        return self._lists("c_lib_dirs", c_compiler)

    def c_compile_args(self, c_compiler: str = "") -> Sequence[str]:
        """Return the compiler arguments of the types."""
        return self._lists("c_compile_args", c_compiler)

    def c_no_compile_args(self, c_compiler: str = "") -> Sequence[str]:
        """Return the arguments that the types forbid."""
        return self._lists("c_no_compile_args", c_compiler)

    def c_init_code(self) -> Sequence[str]:
        """Return the statements of the types."""
        return self._collected("c_init_code")

    def c_compiler(self) -> Any:
        """Return the compiler that one of the types asks for."""
        return next(
            (compiler for t in self.types if (compiler := ask(t, "c_compiler", default=None)) is not None), None
        )

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the versions of the types; empty if one has none."""
        versions = [version_of(type_) for type_ in self.types]
        return (1, *versions) if all(versions) else ()


_SUB = {"fail": "{ theano_failed = 1; }", "failure_var": "theano_failed"}


def _declare(field: str, type_: Type) -> str:
    return require_checked(type_, "c_declare", field, _SUB, True)


def _mark_of_field(field: str, type_: Type) -> str:
    """Return the key of a field in C; of a type without C form, its class."""
    try:
        return f"{field}: {_declare(field, type_)}"
    except NoCCode:
        return f"{field}: {type(type_).__qualname__}"


def _members(field: str, type_: Type) -> str:
    """Return the declarations of a field that can stand in a structure of C."""
    return _TYPEDEF.sub("", _declare(field, type_)).strip() + "\n"


def _copies(field: str, type_: Type, to_struct: bool) -> str:
    """Return code that copies all variables of a field between the structure and local ones of the same names."""
    names = dict.fromkeys(_DECLARED.findall(_members(field, type_)))
    lines = []
    for name in names:
        member, local = f"&theano_struct->{name}", f"&{name}"
        target, source = (member, local) if to_struct else (local, member)
        lines.append(f"memcpy((void *){target}, (void *){source}, sizeof {name});\n")
    return "".join(lines)


def _check_field(field: str, type_: Any) -> None:
    if not _IDENTIFIER.fullmatch(field) or keyword.iskeyword(field) or _C_WORD.fullmatch(field):
        raise ValueError(
            format_error(
                f"{field!r} cannot be the name of a field", hint="use an identifier that is no word of Python or C"
            )
        )
    if not isinstance(type_, Type):
        raise TypeError(
            format_error(
                f"the field {field} has {type_!r}, which is no type", hint="give an instance, as in ScalarType('int32')"
            )
        )
