"""Mechanisms: frozen recipes, one a file, each with its theorem in its docstring."""
