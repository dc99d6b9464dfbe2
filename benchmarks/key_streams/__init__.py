"""Streams of users and keys, and the published algorithm that key discovery is compared with."""
