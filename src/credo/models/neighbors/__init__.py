"""Prediction from the nearest rows."""
