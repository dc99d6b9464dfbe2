"""Bounds of a plan that are chosen privately, from public candidates, and paid for."""
