"""Compiled functions as C that needs neither Python nor NumPy."""

from theano_linker_c.export import ExportedFunction as ExportedFunction, export_c as export_c

__all__ = ["ExportedFunction", "export_c"]
