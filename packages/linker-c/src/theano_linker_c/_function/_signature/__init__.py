"""What the caller says of inputs, outputs, updates and givens, and the one graph that is collected from it."""
