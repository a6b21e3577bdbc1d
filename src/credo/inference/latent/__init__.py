"""Engines for hidden classes and missing values: EM, draws of partitions."""
