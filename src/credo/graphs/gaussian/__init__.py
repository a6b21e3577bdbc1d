"""Gaussian factors in canonical form, alone or one for each setting of discrete variables."""
