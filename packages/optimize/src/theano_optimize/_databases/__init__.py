"""Databases of rewriters, and the queries that choose from them."""
