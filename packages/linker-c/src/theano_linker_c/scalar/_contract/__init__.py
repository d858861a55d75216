"""What a scalar op says of itself: types, C text, derivative, records for its tests."""
