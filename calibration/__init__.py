"""Calibration by simulation: the truth is ranked evenly by posteriors of its own data."""
