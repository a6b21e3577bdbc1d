"""Linear algebra: Cholesky factors dense and sparse, moments, distances and neighbors."""
