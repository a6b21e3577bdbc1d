"""See how close averages over a Gaussian come to those over the true posterior.

Logistic regressions learn from twenty biopsies, which are easily told apart: scores saturate,
and the posterior leans away from its mode. The Gaussian closest to it and the one of Laplace's
method at its mode are each set against the true posterior at the same precision, which
importance sampling finds.
"""

import numpy as np
from scipy.special import expit, softmax

from credo import LogisticRegression
from credo.data import load_set
from credo.evaluation import hold_out

table = load_set("biopsy").dropna()
X, y = table.drop(columns="diagnosis").to_numpy(float), table["diagnosis"].to_numpy(str)
design = np.column_stack([X, np.ones(len(X))])
is_second = y == "malignant"
DRAWS, DF, WIDER = 40_000, 5, 1.3


def true_average(model, few, rest, rng):
    """Return probabilities averaged over the true posterior of the weights."""
    mode = np.append(model.coef_[0], model.intercept_)
    precision = np.append(model.weight_precision_, 0.0)
    p = expit(design[few] @ mode)
    curvature = design[few].T @ (design[few] * (p * (1 - p))[:, None]) + np.diag(precision)
    root = np.linalg.cholesky(np.linalg.inv(curvature))
    tail = np.sqrt(rng.chisquare(DF, size=(DRAWS, 1)) / DF)
    step = rng.standard_normal((DRAWS, len(mode))) / tail
    weight = mode + WIDER * step @ root.T
    score = np.where(is_second[few], 1, -1) * (weight @ design[few].T)
    log_posterior = -np.logaddexp(0, -score).sum(axis=1) - 0.5 * weight**2 @ precision
    log_proposal = -(DF + len(mode)) / 2 * np.log1p((step**2).sum(axis=1) / DF)
    share = softmax(log_posterior - log_proposal)
    kept = weight[rng.choice(DRAWS, 4000, p=share)]
    return expit(kept @ design[rest].T).mean(axis=0)


def log_score(probability, rows):
    """Return the mean log probability of what came true."""
    return np.log(np.where(is_second[rows], probability, 1 - probability)).mean()


def scores(inference):
    """Return the log scores of the Gaussian and of the true posterior, mean over ten draws."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        few, rest = hold_out(len(y), 0.97, rng, stratify=y)
        model = LogisticRegression(inference=inference).fit(X[few], y[few])
        answers = [model.predict_proba(X[rest])[:, 1], true_average(model, few, rest, rng)]
        found.append([log_score(answer, rest) for answer in answers])
    return np.mean(found, axis=0)


closest, its_truth = scores("variational")
laplace, laplace_truth = scores("laplace")
print(f"log score: closest Gaussian {closest:.3f}, true posterior {its_truth:.3f}")
print(f"log score: Laplace {laplace:.3f}, true posterior {laplace_truth:.3f}")

assert abs(closest - its_truth) < 0.015, "the closest Gaussian must be close"
assert laplace + 0.03 < laplace_truth, "the one at the mode must be too modest"
