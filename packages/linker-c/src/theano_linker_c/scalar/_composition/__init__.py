"""Scalar graphs as ops: the loops that fusion makes."""
