"""Compiled functions, and their calls.

`_callable` is what a caller holds; `_arguments` binds and filters the arguments of a call; `_fn` and `_views` show
the machine and the containers as attributes.
"""
