"""What tensor variables do as NumPy's arrays do: operators, methods, and NumPy's own functions."""
