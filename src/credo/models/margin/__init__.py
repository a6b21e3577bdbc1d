"""Models by margin: perceptrons, boosted stumps, regularized risk, support vectors."""
