"""Tensors as such: their types and values, variables and constants, dtypes, conversion, constructors."""
