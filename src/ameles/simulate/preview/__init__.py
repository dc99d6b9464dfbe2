"""A plan before its launch: what its numbers would look like, with other parameters too."""
