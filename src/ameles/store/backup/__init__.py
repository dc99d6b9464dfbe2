"""Backups of a store: one file with a checksum, for every database."""
