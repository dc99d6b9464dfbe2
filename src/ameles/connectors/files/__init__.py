"""Files: which were read before, how far, and what became of them since."""
