"""Addresses of routines in libraries: BLAS, LAPACK and special functions."""
