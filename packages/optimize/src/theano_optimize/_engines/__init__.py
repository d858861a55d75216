"""Engines that apply rules to graphs: one walk, until nothing changes, groups, and sequences of rewriters."""
