"""Where the values of variables live: cells, shared variables, and the locks that serialise updates."""
