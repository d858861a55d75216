"""From a graph to a function: the maker, the machine that it links, and copies.

`_maker` has the rewritten graph with its signature and mode, `_link` makes a machine of it, `_copying` a function
like another one; `_source` keeps the graph as it was before it was rewritten.
"""
