"""Types whose values exist for C code: pointers to C data, enumerations, and several parameters in one object."""
