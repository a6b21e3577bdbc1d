"""Which of several models is better, and whether the rows can tell."""
