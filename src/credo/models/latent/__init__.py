"""Hidden structure of rows: principal components, clusters and mixtures."""
