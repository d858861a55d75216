"""Typed flags, and where their values come from."""
