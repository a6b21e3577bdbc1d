"""Models that look at no input: what any other must beat."""
