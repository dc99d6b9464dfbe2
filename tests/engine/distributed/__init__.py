"""Tests of gathering in tasks, in buckets of users."""
