"""Rules about one node: functions of nodes, patterns, exchanged ops, and the index that finds the rules for an op."""
