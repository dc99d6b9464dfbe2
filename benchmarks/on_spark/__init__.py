"""What ``./run bench spark`` consists of."""
