"""Counters with Gaussian noise."""
