"""One module per benchmark; each has ``CASES``."""
