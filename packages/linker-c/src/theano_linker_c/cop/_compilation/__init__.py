"""From the C code of nodes to thunks.

`_node_code` collects the parts from a node's op and types, `_render` writes a file of them, `_compile` and `_units`
make machine code of files, where none is at hand, and `_thunks` runs it.
"""
