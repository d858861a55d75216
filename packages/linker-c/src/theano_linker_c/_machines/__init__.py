"""Machines that run programs: one in C and one in Python, thunks, checks of results, and errors."""
