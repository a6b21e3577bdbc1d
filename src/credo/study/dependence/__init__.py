"""Partial dependence: how predictions move with one column."""
