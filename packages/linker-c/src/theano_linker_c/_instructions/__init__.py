"""Instructions over numbered registers, their forms, and the needs of lazy ones: programs as data."""
