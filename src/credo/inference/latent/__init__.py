"""Engines for hidden classes and missing values: expectation maximization, draws of partitions."""
