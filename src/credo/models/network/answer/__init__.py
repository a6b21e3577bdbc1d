"""Answers of networks by exact and approximate engines, row by row."""
