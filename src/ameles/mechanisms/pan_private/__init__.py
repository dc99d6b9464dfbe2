"""Mechanisms whose state may be seized: it is as private as what they publish."""
