"""Values in tests: how they are drawn, computed and compared.

Seeds of random numbers, tolerances (`_tolerance` is the only place that has them), derivatives by finite differences,
comparisons of gradients with these, and what a compiled function is made of.
"""
