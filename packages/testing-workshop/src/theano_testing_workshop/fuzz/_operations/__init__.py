"""The operations that random programs are made of, by subject.

Each module has the records of some operations: how one is drawn, built, computed in NumPy, and written. `_grammar`
puts them together.
"""
