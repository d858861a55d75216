"""Derivatives of loops, and the lowering by which those of the documented op are told.

`_running` differentiates the op that runs; `_lowering` turns the op with the documented kinds of outputs into that
one; `_documented` differentiates it by way of the other.
"""
