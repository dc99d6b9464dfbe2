"""Hats: counters whose nodes are overlapping triangles."""
