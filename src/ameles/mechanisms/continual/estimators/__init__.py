"""Estimators that can be made continual: users in tables of bits, with or without noise."""
