"""Layers of units: activations, forward and backward passes, Jacobians and Hessians."""
