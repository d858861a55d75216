"""Functions of sparse matrices, by subject.

Arithmetic, functions of the stored elements, sums, products, parts and stacks, rows and elements by lists,
convolutions as products, and random matrices. Values are computed by SciPy; `_native` has the ones in C.
"""
