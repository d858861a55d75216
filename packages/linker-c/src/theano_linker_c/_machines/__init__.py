"""What runs programs: the machine in C and the one in Python, thunks, results that are checked, and errors."""
