"""Special functions: log-domain sums, logistic and softmax means, log densities of classes."""
