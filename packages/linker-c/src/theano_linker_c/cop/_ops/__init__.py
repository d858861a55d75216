"""Ops that bring C code along in a form of their own.

C code in files with sections, code that uses OpenMP, code that the author of a type registers; and the declarations
has to declare where it calls BLAS.
"""
