"""What is computed in C: ops on the arrays of compressed matrices, and the rewrites that put them in.

`_products` and `_forms` have the ops with their kernels, `_rewrites` the rules that replace ops that run in SciPy.
"""
