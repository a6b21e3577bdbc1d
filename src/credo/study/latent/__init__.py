"""Tables without a target: groups of rows, few axes, odd rows, and what stands in gaps."""
