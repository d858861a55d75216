"""Expressions: variables, constants, the apply nodes that join them, ops and types.

Here is also where nodes were made (origins), and tables of rules that are looked up by op.
"""
