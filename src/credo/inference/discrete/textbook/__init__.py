"""Exact inference as textbooks write it, to read and to test with: enumeration, elimination."""
