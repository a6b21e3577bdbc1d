"""Property tests repeat their examples; ``--hypothesis-profile=search`` tries new ones."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("search", max_examples=500, deadline=None)
settings.load_profile("repeatable")
