"""What a plan file says: its sections, their checks, its clock, its conditions and its forecast."""
