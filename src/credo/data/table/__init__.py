"""Tables in: cells, typed columns, targets, preparation into numbers."""
