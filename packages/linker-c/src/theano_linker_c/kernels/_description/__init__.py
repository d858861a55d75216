"""What all kernels have in common.

`_kernel` is what a description is and what the target in C knows of it, `_table` the table of rules that describe
nodes, `_source` and `_shared_code` a builder of C text and what the runtime has compiled already, `_accumulators`
what elements are reduced into, and `_broadcast` the shape that operands have together.
"""
