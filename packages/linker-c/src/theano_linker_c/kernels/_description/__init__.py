"""The common parts of all kernels.

`_kernel` is the description with the C target's knowledge of it, `_table` the table of rules that describe
nodes, `_source` and `_shared_code` a builder of C text and the compiled code of the runtime, `_accumulators`
the accumulators of reductions, and `_broadcast` the shape that operands have together.
"""
