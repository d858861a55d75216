"""The runtime: programs as data, their memory, machines that run them, and where values live."""
