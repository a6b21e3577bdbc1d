"""What is fuzzed: one module for each kind of input."""
