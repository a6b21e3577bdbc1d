"""Linear regression: evidence, learned precisions, automatic relevance determination."""
