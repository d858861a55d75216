"""Compiled functions, and their calls.

`_callable` is the caller's object; `_arguments` binds and filters the arguments of a call; `_fn` and `_views` show
the machine and the containers as attributes.
"""
