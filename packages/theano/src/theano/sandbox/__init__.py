"""Modules that keep their historical place."""
