"""Finished functions on disk: a function that an earlier process has built is not rewritten and lowered again.

`_environment` collects what building depends on besides the graph, `_key` names a function by that and by its graph,
`_entry` is the stored form, and `_use` looks for functions and stores them. `_gate` decides which functions take part,
`_exchanged` whether the library is as its files say.
"""
