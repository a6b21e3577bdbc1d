"""Learning from margins: perceptrons, boosting of stumps, regularized empirical risk."""
