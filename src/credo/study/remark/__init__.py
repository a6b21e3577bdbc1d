"""Sentences on a result: what to believe of it and what not to."""
