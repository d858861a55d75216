"""The caller's description of inputs, outputs, updates and givens, and the one graph that is collected from it."""
