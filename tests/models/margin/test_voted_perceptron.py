import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from credo.models import VotedPerceptron

IRIS = load_iris()


def brute_force(X, code, new, n_epochs, seed):
    """Return shares of votes by keeping every weight matrix and asking each in turn."""
    k = code.max() + 1
    order = np.lexsort([code, *X.T[::-1]])
    X, code = X[order], code[order]
    center, scale = X.mean(axis=0), X.std(axis=0)
    rows, asked = (np.column_stack([(A - center) / scale, np.ones(len(A))]) for A in (X, new))
    weights, vote, met = np.zeros((k, rows.shape[1])), 0.0, []
    rng = np.random.default_rng(seed)
    for _ in range(n_epochs):
        for i in rng.permutation(len(rows)):
            score = weights @ rows[i]
            rivals = [c for c in range(k) if c != code[i]]
            rival = max(rivals, key=lambda c: (score[c], -c))
            if score[code[i]] > score[rival]:
                vote += 1
                continue
            met.append((weights.copy(), vote))
            weights[code[i]] += rows[i]
            weights[rival] -= rows[i]
            vote = 1.0
    met.append((weights, vote))
    shares = np.zeros((len(asked), k))
    for matrix, strength in met:
        for i, row in enumerate(asked):
            score = matrix @ row
            shares[i, int(score[1] > score[0]) if k == 2 else score.argmax()] += strength
    return shares / shares.sum(axis=1, keepdims=True)


def overlapping(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + 0.7 * y[:, None], y


def test_two_classes_get_the_votes_counted_one_by_one():
    X, y = overlapping(40, 0)
    new, _ = overlapping(25, 1)
    shares = brute_force(X, y, new, n_epochs=3, seed=7)
    model = VotedPerceptron(n_epochs=3, random_state=7).fit(X, y)
    assert_allclose(model.decision_function(new), shares[:, 1] - shares[:, 0], atol=1e-12)
    assert (model.predict(new) == (shares[:, 1] > shares[:, 0])).all()


def test_three_classes_get_the_votes_counted_one_by_one():
    X = IRIS.data + np.random.default_rng(2).normal(scale=1e-3, size=IRIS.data.shape)
    shares = brute_force(X, IRIS.target, X[::7], n_epochs=2, seed=3)
    model = VotedPerceptron(n_epochs=2, random_state=3).fit(X, IRIS.target)
    assert_allclose(model.decision_function(X[::7]), shares, atol=1e-12)


def test_the_vote_errs_less_than_the_last_perceptron_where_classes_overlap():
    test, truth = overlapping(4000, 10)
    voted, last = [], []
    for seed in range(8):
        X, y = overlapping(150, 100 + seed)
        model = VotedPerceptron(random_state=seed).fit(X, y)
        voted.append((model.predict(test) != truth).mean())
        score = test @ model.coef_[-1, 0] + model.intercept_[-1, 0]
        last.append(((score > 0) != truth).mean())
    assert np.mean(voted) < np.mean(last) - 0.02


def test_votes_in_blocks_equal_votes_at_once(monkeypatch):
    X, y = overlapping(60, 4)
    model = VotedPerceptron().fit(X, y)
    expected = model.decision_function(X)
    monkeypatch.setattr("credo.inference.margin.perceptron.ROWS_AT_ONCE", 7)
    monkeypatch.setattr("credo.inference.margin.perceptron.SCORES_AT_ONCE", 35)
    assert_allclose(model.decision_function(X), expected, atol=1e-12)


def test_shares_of_votes_sum_to_one():
    model = VotedPerceptron().fit(IRIS.data, IRIS.target)
    assert_allclose(model.votes_.sum(), 1.0)
    assert_allclose(model.decision_function(IRIS.data).sum(axis=1), 1.0)
    assert (model.predict(IRIS.data) == IRIS.target).mean() > 0.9


def test_weights_count_copies_also_when_they_are_fractions():
    X, y = overlapping(50, 5)
    weight = np.random.default_rng(6).uniform(0.5, 2.0, 50)
    one = VotedPerceptron().fit(X, y, sample_weight=weight).decision_function(X)
    scaled = VotedPerceptron().fit(X, y, sample_weight=4 * weight).decision_function(X)
    assert_allclose(one, scaled, atol=1e-9)
    assert not np.allclose(one, VotedPerceptron().fit(X, y).decision_function(X))


def test_no_epoch_is_refused_and_there_are_no_probabilities():
    with pytest.raises(
        ValueError, match="n_epochs must be a whole number, at least 1; found 0"
    ):
        VotedPerceptron(n_epochs=0).fit(*overlapping(20, 0))
    assert not hasattr(VotedPerceptron(), "predict_proba")
