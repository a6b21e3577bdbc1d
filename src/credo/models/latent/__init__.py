"""Hidden structure of rows: principal components, factors, clusters, mixtures."""
