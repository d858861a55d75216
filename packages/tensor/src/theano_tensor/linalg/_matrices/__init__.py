"""The common part of operations on matrices.

Which operands they take and the small expressions that their rules are made of (`_operands`), facts about
matrices beyond their types (`_hints`), and SciPy, imported on first use (`_lazy`).
"""
