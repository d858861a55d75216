"""Accumulation over a graph, backward and forward.

`_backward` and `_forward` walk over the nodes once; `_grad` is the gradient of a cost, `_sources` gradients with
those of everything on the way, and `_paths` explains why one is disconnected.
"""
