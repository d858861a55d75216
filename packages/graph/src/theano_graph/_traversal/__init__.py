"""Walks over expressions: orders, searches, and copies.

All are iterative, so that the depth of a graph never becomes the depth of the stack.
"""
