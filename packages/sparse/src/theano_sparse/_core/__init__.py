"""Sparse matrices as such.

Their type (`_type`), variables (`_build`), the base of their ops (`_op`), the arrays that they consist of
(`_structure`, and `_compressed` for ops on these arrays), and ways to and from dense tensors (`_conversion`).
"""
