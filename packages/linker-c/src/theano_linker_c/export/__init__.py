"""Compiled functions as C that stands alone.

`_body` writes the statements, from the straight-line C of the program; `_files` puts them into header and source, with
the functions of our own that they call; `_interface` knows how arrays are passed. `_pointer` makes C functions in
memory, with the signatures of other programs. `_casadi` adds the functions of CasADi's interface, with derivatives that
a higher layer makes. `_loop_source` writes loops and functions for arrays of certain shapes.
"""

from ._api import ExportedFunction as ExportedFunction, export_c as export_c
from ._casadi import Jacobian as Jacobian, set_jacobian_maker as set_jacobian_maker
from ._interface import parse_signature as parse_signature
from ._pointer import CFunction as CFunction, c_pointer as c_pointer, code_library as code_library

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
