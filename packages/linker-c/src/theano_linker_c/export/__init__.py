"""Compiled functions as C that stands alone.

`_body` writes the statements, from the straight-line C of the program; `_files` puts them into header and source, with
the functions of our own that they call (`_library`); `_interface` knows how arrays are passed. `_pointer` makes C
functions in memory: `_adapter` gives them the signatures (`_signature`) of other programs, `_loading` compiles them.
`_casadi` adds the functions of CasADi's interface, with derivatives that a higher layer makes (`_derivatives`).
"""

from ._api import ExportedFunction as ExportedFunction, export_c as export_c
from ._derivatives import Jacobian as Jacobian, set_jacobian_maker as set_jacobian_maker
from ._loading import code_library as code_library
from ._pointer import CFunction as CFunction, c_pointer as c_pointer
from ._signature import parse_signature as parse_signature

__all__ = [
    "CFunction",
    "ExportedFunction",
    "Jacobian",
    "c_pointer",
    "code_library",
    "export_c",
    "parse_signature",
    "set_jacobian_maker",
]
