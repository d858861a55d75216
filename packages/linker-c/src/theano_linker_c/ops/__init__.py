"""Ops that `function` itself inserts."""

from ._copies import DeepCopyOp as DeepCopyOp, ViewOp as ViewOp, deep_copy_op as deep_copy_op, view_op as view_op

__all__ = ["DeepCopyOp", "ViewOp", "deep_copy_op", "view_op"]
