"""Ameles publishes live statistics about people under differential privacy."""
