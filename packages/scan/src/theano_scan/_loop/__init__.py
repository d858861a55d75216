"""The ops of loops, and their parts.

`_ops` has the two ops; `_plan` says how their inputs and outputs go together, and `_kinds` which kinds the documented
op has. `_run` carries a loop out, step by step, with `_stores` and `_buffers` for the results of steps;
`_checks` looks at inner graphs.
"""
