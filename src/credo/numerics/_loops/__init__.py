"""Fused numba loops; each module is imported only by its callers."""
