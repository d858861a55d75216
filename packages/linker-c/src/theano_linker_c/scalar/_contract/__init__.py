"""The contract of a scalar op: types, C text, derivative, records for its tests."""
