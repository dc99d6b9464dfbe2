"""A stream that is followed live: what comes in and which steps end, in one order."""
