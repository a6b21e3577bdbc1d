import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo.data import load, save
from credo.inference.latent.partition import CollapsedGibbs
from credo.models.latent.mixture_model import MixtureModel


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n) + 4.0 * group,
            "color": np.where(rng.uniform(size=n) < 0.1 + 0.8 * group, "red", "blue"),
            "is_wet": rng.uniform(size=n) < 0.2 + 0.6 * group,
            "count": rng.poisson(2 + 6 * group),
        }
    )
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "color"] = None
    return frame, group


@pytest.mark.parametrize("inference", ["variational", "map"])
def test_a_table_of_text_and_numbers_clusters_as_it_is(inference):
    frame, group = table()
    model = MixtureModel({"count": "poisson"}, inference=inference).fit(frame)
    assert model.columns_.kinds == ("normal", "categorical", "bernoulli", "poisson")
    agree = (model.predict(frame) == group).mean()
    assert max(agree, 1 - agree) > 0.97
    profile = model.profile().sort_values("size")
    assert profile["color"].tolist() == ["blue", "red"]
    assert_allclose(profile["count"], [2.0, 8.0], atol=0.7)
    drawn = model.sample(20, random_state=0)
    assert list(drawn.columns) == list(frame.columns)
    assert set(drawn["color"]) <= {"red", "blue"}


def test_draws_cluster_a_table_too():
    frame, group = table(40)
    frame = frame[["size", "color"]]
    model = MixtureModel(inference="gibbs").fit(frame)
    agree = (model.predict(frame) == group).mean()
    assert max(agree, 1 - agree) > 0.9


def test_a_category_never_seen_says_nothing():
    frame, _ = table(80)
    model = MixtureModel().fit(frame)
    other = frame.assign(color="green")
    gap = frame.assign(color=None)
    assert_allclose(model.predict_proba(other), model.predict_proba(gap))


def test_decays_of_two_substances_have_their_lifetimes():
    rng = np.random.default_rng(0)
    times = rng.exponential(np.where(rng.uniform(size=3000) < 0.4, 1.0, 20.0))[:, None]
    model = MixtureModel("exponential").fit(times)
    profile = model.profile().sort_values(0)
    assert_allclose(profile[0], [1.0, 20.0], rtol=0.12)
    assert_allclose(profile["weight"], [0.4, 0.6], atol=0.05)


def test_a_planted_outlier_goes_to_the_background():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (60, 1)), rng.normal(6, 1, (60, 1)), [[40.0]]])
    model = MixtureModel("normal", 2, "map", background=True).fit(x)
    assert model.predict([[40.0], [0.0], [6.0]]).tolist()[0] == 2
    assert 2 not in model.predict([[0.0], [6.0]])
    # The density of normals and a flat part, by quadrature and by formula.
    low, high = model.prior_.rows.background.parts[0].support()
    area, _ = integrate.quad(
        lambda v: float(np.exp(model.log_prob([[v]])[0])), low[0], high[0], limit=200
    )
    assert 0.97 < area <= 1.0 + 1e-6
    density = model.posterior_.density
    weight = model.weights_
    expected = sum(
        weight[c] * stats.norm(density.rows.loc[c, 0], density.rows.scale[c, 0]).pdf(3.0)
        for c in range(2)
    ) + weight[2] / (high[0] - low[0])
    assert_allclose(np.exp(model.log_prob([[3.0]]))[0], expected)
    plain = MixtureModel("normal", 2, "map").fit(x)
    assert plain.profile()[0].max() > model.profile()[0][:2].max() + 1.0


def test_student_t_components_are_not_pulled_by_outliers():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.standard_t(2.0, (150, 2)), rng.normal(12.0, 1.0, (150, 2)), [[200.0, -150.0]] * 3]
    )
    model = MixtureModel("student_t").fit(x)
    center = np.sort(model.predictive_.density.loc[:, 0])
    assert_allclose(center, [0.0, 12.0], atol=0.5)
    df = model.predictive_.density.df[np.argsort(model.predictive_.density.loc[:, 0])]
    assert df[0] < 4.0 < df[1]
    objective = model.history_.objective
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[0])).all()


def test_one_student_t_has_the_likelihood_of_scipy():
    x = np.random.default_rng(0).standard_t(3.0, (4000, 1))
    model = MixtureModel("student_t", 1).fit(x)
    df, loc, scale = stats.t.fit(x.ravel())
    assert_allclose(model.predictive_.density.df[0], df, rtol=0.05)
    assert_allclose(model.log_prob(x).sum(), stats.t(df, loc, scale).logpdf(x).sum(), atol=0.5)


@pytest.mark.parametrize(
    ("families", "x", "message"),
    [
        ("poisson", [[0.5], [1.0], [2.0]], "whole numbers from 0 on"),
        ("bernoulli", [[0.0], [2.0], [1.0]], "0 or 1"),
        ("exponential", [[-1.0], [2.0], [1.0]], "numbers from 0 on"),
        ("gamma", [[1.0], [2.0], [3.0]], "families must be one of"),
        ({"a": "normal"}, [[1.0], [2.0], [3.0]], "must name columns of X"),
    ],
)
def test_columns_that_a_family_cannot_have_are_refused(families, x, message):
    with pytest.raises(ValueError, match=message):
        MixtureModel(families).fit(x)


def test_text_is_no_number():
    frame, _ = table(40)
    with pytest.raises(ValueError, match="found text"):
        MixtureModel({"color": "normal"}).fit(frame)


def test_a_saved_mixture_of_a_table_answers_alike(tmp_path):
    frame, _ = table(60)
    model = MixtureModel().fit(frame)
    save(model, tmp_path / "mixture.credo")
    again = load(tmp_path / "mixture.credo")
    assert_allclose(again.predict_proba(frame), model.predict_proba(frame))


def test_numbers_of_components_are_compared_side_by_side():
    rng = np.random.default_rng(2)
    rows = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(7, 1, (40, 2))])
    model = MixtureModel("vector", n_restarts=1)
    table = model.component_table(rows, (1, 2, 3), n_folds=3)
    assert table["bic"].idxmin() == table["bound"].idxmax() == 2
    assert table.loc[2, "held_out"] > table.loc[1, "held_out"] + 0.5
    left_out = MixtureModel("vector", 2, n_restarts=1).held_out(rows, 3, most=3)
    np.testing.assert_allclose(left_out.mean(), table.loc[2, "held_out"])
    posterior = model.number_posterior(rows, 3, CollapsedGibbs(60, 30, 1))
    assert posterior.argmax() == 1
    np.testing.assert_allclose(posterior.sum(), 1.0)


def test_bic_of_one_component_is_that_of_the_likelihood_at_its_means():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(400, 2))
    table = MixtureModel("vector").component_table(rows, (1,), n_folds=0)
    covariance = np.cov(rows.T, bias=True)
    log_likelihood = stats.multivariate_normal(rows.mean(axis=0), covariance).logpdf(rows).sum()
    expected = -2 * log_likelihood + 5 * np.log(400)
    np.testing.assert_allclose(table.loc[1, "bic"], expected, atol=0.3)


def test_gaps_are_drawn_as_the_conditional_normal_says():
    rng = np.random.default_rng(4)
    x = rng.normal(size=800)
    rows = np.column_stack([x, 2 * x + rng.normal(0, 0.5, 800)])
    model = MixtureModel("vector", 1).fit(rows)
    asked = np.array([[1.5, np.nan], [0.3, 0.4]])
    drawn = model.sample_missing(asked, 4000, random_state=0)
    assert_allclose(drawn[:, 1], np.broadcast_to(asked[1], (4000, 2)))
    assert_allclose(drawn[:, 0, 0], 1.5)
    assert_allclose(drawn[:, 0, 1].mean(), 3.0, atol=0.1)
    assert_allclose(drawn[:, 0, 1].std(), 0.5, rtol=0.08)


def test_words_are_drawn_by_their_probability_in_the_component_of_the_row():
    frame, _ = table()
    model = MixtureModel({"count": "poisson"}, 2).fit(frame)
    row = frame.iloc[[1]].assign(color=None)
    drawn = model.sample_missing(row, 2000, random_state=0)[:, 0, 1]
    by_hand = np.zeros(2)
    share = model.predict_proba(row)[0]
    for k, weight in enumerate(share):
        places = [i for i, p in enumerate(model.predictive_.density.columns) if p == (1,)]
        part = model.predictive_.density.parts[places[0]]
        by_hand += weight * part.probability[k].ravel()
    assert_allclose(np.bincount(drawn.astype(int), minlength=2) / 2000, by_hand, atol=0.04)
