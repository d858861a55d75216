"""What operations on matrices share.

Which operands they take and the small expressions that their rules are made of (`_operands`), what is known about
matrices beyond their types (`_hints`), and SciPy, imported on first use (`_lazy`).
"""
