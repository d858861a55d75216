"""From the C code of nodes to thunks.

`_node_code` collects what a node's op and types give, `_render` writes a file of it, `_compile` and `_units` make
machine code of files, where none is at hand, and `_thunks` runs it.
"""
