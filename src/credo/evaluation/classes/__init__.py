"""How good class probabilities are: confusion, rates, ranking, reliability."""
