"""Rules of reading, in versions: a stream keeps those that it was launched with.

Rules say which events and users the bytes of a source are.  Under other rules a user who was seen
before could be taken for a new one, and an event could count that did not count before.  So new
rules are for new streams, and a stream that was launched goes on under its own.

    1   as in stores of the versions 1 and 2
    2   ids of users have one canonical form; weights are clamped; times are read as ISO 8601 says;
        a dot in the name of a column of JSON is a path; texts over 1 MiB in Parquet are missing
    3   nothing: it was about the choice among a user's events, which is the same for all streams
    4   a text with broken characters is no key
"""

from __future__ import annotations

FIRST = 1
CURRENT = 4
# From these on:
ISO = 2  # all of ISO 8601 is read
PATHS = 2  # a dot in the name of a column of JSON is a path
LONG_TEXTS = 2  # a text over 1 MiB in Parquet is missing
SCHEMA = 2  # a Parquet column whose type cannot be its kind is refused
SOUND_KEYS = 4  # a text with broken characters is no key
