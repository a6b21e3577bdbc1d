"""Model files out and in: a sealed archive of values, read with suspicion."""
