"""Buckets of object stores as a source."""
