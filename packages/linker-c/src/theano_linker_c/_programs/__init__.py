"""Programs as data: instructions over numbered registers, and what lazy ones need first."""
