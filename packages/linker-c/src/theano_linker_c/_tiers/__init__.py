"""Functions that start before their kernels are compiled: what is missing, who compiles it, and the exchange."""
