"""Discrete networks: exact plans where they fit, approximations where they do not."""
