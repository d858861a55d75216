"""Systems of linear equations: solutions, inverses and determinants."""
