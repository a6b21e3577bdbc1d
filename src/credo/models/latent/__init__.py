"""Hidden structure of rows: principal components, hidden numbers behind columns, mixtures."""
