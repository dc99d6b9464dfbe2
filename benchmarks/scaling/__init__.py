"""Costs of a stream by its size, and a simulation that carries them further."""
