"""Jacobians, and products with them.

`_jacobian` computes Jacobians and Hessians by a loop over rows (`_map_rows`, which `_map_rows_build` makes and
differentiates); `_operators` has `Lop` and `Rop`, at a point that `_evaluation_point` marks.
"""
