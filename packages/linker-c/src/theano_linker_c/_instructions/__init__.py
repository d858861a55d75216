"""Instructions over numbered registers, the forms they have, and what lazy ones need first: programs as data."""
