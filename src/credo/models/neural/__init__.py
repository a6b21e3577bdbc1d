"""Neural networks whose weights are integrated out: regression and classification."""
