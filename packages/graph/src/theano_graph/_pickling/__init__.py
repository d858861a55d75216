"""Pickles of graphs of any depth, in tables that say what nodes hold."""
