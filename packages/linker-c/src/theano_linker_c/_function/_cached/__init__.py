"""Finished functions on disk: a function that an earlier process has built is not rewritten and lowered again.

`_environment` says on what building depends besides the graph, `_key` names a function by that and by its graph,
`_entry` is what is stored, and `_use` looks for functions and stores them. `_gate` says which functions take part, and
`_exchanged` whether the library is as its files say.
"""
