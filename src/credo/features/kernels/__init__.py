"""Kernels: covariance functions as values that add, multiply, scale and select columns."""
