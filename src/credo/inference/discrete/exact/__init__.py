"""Exact inference in discrete networks by compiled contraction trees (junction trees)."""
