"""The laws of sums of discrete Laplace variables: exact where that is quick, bounded elsewhere."""
