"""``c_pointer``: a compiled function as a C function in memory."""

from __future__ import annotations

import _ctypes
import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from theano_graph import format_error

from .._function import Function
from ..compiler import MappedCode
from ..straight import NoStraightForm
from ._adapter import ENTRY, adapted_text, natural_signature
from ._body import write_body
from ._interface import check_shapes
from ._loading import code_library
from ._signature import Signature, parse_signature

__all__ = ["CFunction", "c_pointer"]

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
