"""Functions that start before their kernels are compiled: missing kernels, their compilation, and the exchange."""
