"""Compiled functions as C that stands alone.

`_body` writes the statements, from the straight-line C of the program; `_files` puts them into header and source, with
the functions of our own that they call (`_library`); `_interface` knows how arrays are passed.
"""

from ._api import ExportedFunction as ExportedFunction, export_c as export_c

__all__ = ["ExportedFunction", "export_c"]
