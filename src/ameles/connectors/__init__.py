"""Connectors: where events come from, and where releases go."""
