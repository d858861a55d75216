"""Running graphs: scalars, kernels, the compiler and the machines."""
