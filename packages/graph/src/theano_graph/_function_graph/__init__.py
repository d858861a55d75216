"""Graphs that can be changed.

A function graph knows its nodes and the clients of each variable; replacements can be undone, and features hear of
each change.
"""
