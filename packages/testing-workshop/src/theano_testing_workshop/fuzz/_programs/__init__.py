"""Random programs as data.

`_program` has what a program is, the expression it builds and its value in NumPy; `_draw` draws operands;
`_expressions` draws small expressions as text, which both languages understand.
"""
