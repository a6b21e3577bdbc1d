"""Rows with gaps: a joint density that completes them, and models averaged over it."""
