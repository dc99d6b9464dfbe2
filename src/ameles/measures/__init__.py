"""Measures: what a plan can publish, one file each."""
