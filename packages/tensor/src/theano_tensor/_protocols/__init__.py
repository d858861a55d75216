"""NumPy's interface of arrays on tensor variables: operators, methods, and NumPy's own functions."""
