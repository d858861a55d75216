"""C code of ops for any type, which the author of a type registers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from theano_graph import Apply, Op, Type, format_error, record


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
