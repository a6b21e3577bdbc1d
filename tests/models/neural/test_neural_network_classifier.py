"""Classification by networks against logistic regression and its own plug-in."""

import numpy as np
import pytest

import credo


def rings(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    score = (x**2).sum(axis=1) + 0.5 * rng.normal(size=n)
    return x, np.digitize(score, [1.0, 2.5])


def log_loss(model, x, y):
    return -model.predict_log_proba(x)[np.arange(len(y)), y].mean()


def test_without_hidden_layer_it_is_logistic_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = (x @ [1.0, -2.0, 0.5] + 0.5 + rng.logistic(size=300) > 0).astype(int)
    network = credo.NeuralNetworkClassifier((), random_state=0).fit(x, y)
    logistic = credo.LogisticRegression(inference="laplace").fit(x, y)
    test = rng.normal(size=(20, 3))
    np.testing.assert_allclose(
        network.predict_proba(test), logistic.predict_proba(test), atol=0.01
    )
    assert network.log_evidence_ == pytest.approx(logistic.log_evidence_, abs=3.0)


def test_several_classes_without_hidden_layer_are_softmax_regression():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    y = np.argmax(x @ rng.normal(size=(2, 3)) + rng.gumbel(size=(300, 3)), axis=1)
    network = credo.NeuralNetworkClassifier((), random_state=0).fit(x, y)
    logistic = credo.LogisticRegression(inference="laplace").fit(x, y)
    test = rng.normal(size=(20, 2))
    np.testing.assert_allclose(
        network.predict_proba(test), logistic.predict_proba(test), atol=0.015
    )


@pytest.mark.parametrize("hidden", [(), (4,)])
def test_probabilities_are_averaged_over_normal_scores(hidden):
    x, y = rings(60, 7)
    model = credo.NeuralNetworkClassifier(hidden, random_state=0).fit(x, y > 0)
    rows = (x[:5] - x.mean(axis=0)) / x.std(axis=0)
    mean, covariance = model.posterior_.parts[0].moments(rows)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    scores = mean + np.sqrt(covariance[:, 0]) * nodes
    expected = (1.0 / (1.0 + np.exp(-scores))) @ weights / np.sqrt(2.0 * np.pi)
    found = np.exp(model.predict_log_proba(x[:5]))
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)


def test_units_learn_what_no_line_can_tell():
    x, y = rings()
    test_x, test_y = rings(1000, seed=1)
    network = credo.NeuralNetworkClassifier((8,), random_state=0).fit(x, y)
    line = credo.LogisticRegression().fit(x, y)
    assert log_loss(network, test_x, test_y) < log_loss(line, test_x, test_y) - 0.2


def test_averaging_over_weights_does_not_lose_to_the_mode():
    gains = []
    for seed in range(40, 50):
        x, y = rings(60, seed)
        test_x, test_y = rings(1000, seed + 100)
        averaged, plug_in = (
            credo.NeuralNetworkClassifier((10,), inference=way, random_state=0).fit(x, y)
            for way in ("laplace", "map")
        )
        gains.append(log_loss(plug_in, test_x, test_y) - log_loss(averaged, test_x, test_y))
    assert np.mean(gains) > 0.0
    assert min(gains) > -0.02, np.round(gains, 3)


def test_probabilities_are_moderate_far_from_all_rows():
    x, y = rings()
    model, mode = (
        credo.NeuralNetworkClassifier((8,), inference=way, random_state=0).fit(x, y)
        for way in ("laplace", "map")
    )
    far = 20.0 * np.array([[1.0, 1.0], [-1.0, 0.5], [0.2, -1.0]])
    assert (model.predict_proba(far).max(axis=1) <= mode.predict_proba(far).max(axis=1)).all()


def test_labels_are_kept_and_draws_average_to_probabilities_near_the_answer():
    x, y = rings()
    names = np.array(["in", "middle", "out"])[y]
    model = credo.NeuralNetworkClassifier((6,), random_state=0).fit(x, names)
    assert model.classes_.tolist() == ["in", "middle", "out"]
    assert model.score(x, names) > 0.75
    draws = model.sample_probabilities(x[:3], 4000, random_state=0)
    assert draws.shape == (4000, 3, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    np.testing.assert_allclose(draws.mean(axis=0), model.predict_proba(x[:3]), atol=0.02)


def test_one_class_is_refused():
    x, _ = rings(20)
    with pytest.raises(ValueError, match="at least 2 classes"):
        credo.NeuralNetworkClassifier().fit(x, np.zeros(20))
