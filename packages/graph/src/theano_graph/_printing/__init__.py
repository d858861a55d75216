"""Graphs as text, as formulas, and as diagrams."""
