"""Scalar graphs as ops: what fusion puts into one loop."""
