"""Tests of ops that are made of tables.

`_records` makes test classes of a record of an op, `_testers` of tables of good and bad values, `_bases` has what
tests that are written by hand derive from.
"""
