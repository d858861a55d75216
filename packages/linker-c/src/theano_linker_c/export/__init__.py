"""Compiled functions as C that stands alone.

`_body` writes the statements, from the straight-line C of the program; `_files` puts them into header and source, with
the functions of our own that they call (`_library`); `_interface` knows how arrays are passed. `_pointer` makes C
functions in memory: `_adapter` gives them the signatures (`_signature`) of other programs, `_loading` compiles them.
"""

from ._api import ExportedFunction as ExportedFunction, export_c as export_c
from ._pointer import CFunction as CFunction, c_pointer as c_pointer

__all__ = ["CFunction", "ExportedFunction", "c_pointer", "export_c"]
