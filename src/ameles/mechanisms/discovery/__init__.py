"""Keys that are discovered while a stream runs, and the counts of those that are public."""
