"""Factors of matrices: Cholesky's, those with orthonormal columns, and eigenvalues."""
