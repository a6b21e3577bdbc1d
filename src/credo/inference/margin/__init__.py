"""Learning from margins: perceptrons, boosting of stumps, regularized risk, support vectors."""
