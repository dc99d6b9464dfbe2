"""A stream that is followed live: incoming events and the ends of steps, in one order."""
