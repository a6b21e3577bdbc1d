"""A Gaussian prior and one likelihood site for each row: Laplace's method, EP, evidence."""
