from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo import HiddenMarkov, ImpossibleSequence, MixtureModel
from credo.data import load_set
from credo.distributions import Categorical, MultivariateNormal, Normal
from credo.families import GammaPoisson
from credo.inference import BlockedGibbs

RNG = np.random.default_rng(0)

Y = [[0.1], [1.9], [0.8], [2.2]]


def worked():
    density = Normal([[0.0], [2.0]], [[1.0], [np.sqrt(0.5)]])
    return HiddenMarkov.from_parameters([0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], density)


def spells(rng, n=240, d=2):
    """Return rows of two states that last about twenty rows, and the states."""
    state = np.cumsum(rng.random(n) < 0.05) % 2
    return rng.normal(size=(n, d)) + 2.5 * state[:, None], state


def test_worked_numbers_of_a_filter_and_a_forecast():
    model = worked()
    past = model.predict_proba(Y, given="past")
    assert_allclose(past[:, 0], [0.9750080394, 0.2053644265, 0.4847219131, 0.0493522951])
    known = model.filter(Y)
    assert_allclose(known.ahead(2)[:, 0], [0.2246761476, 0.3123380738], rtol=1e-9)
    ahead = model.forecast(Y)
    assert_allclose(ahead.mean(), [1.5506477049], rtol=1e-10)
    assert_allclose(ahead.variance(), [1.3091251789], rtol=1e-10)
    assert_allclose(known.log_prob, -5.7807385855, rtol=1e-10)


def test_worked_numbers_of_smoothing_and_of_the_best_path():
    model = worked()
    assert_allclose(
        model.predict_proba(Y)[:, 0], [0.9472948979, 0.1988213851, 0.2857570024, 0.0493522951]
    )
    assert model.decode(Y).tolist() == [0, 1, 1, 1]
    assert_allclose(np.exp(model.path_log_prob(Y, [0, 1, 1, 1])), [0.5996672822], rtol=1e-9)


def test_probabilities_of_all_paths_sum_to_one_and_draws_have_them():
    model = worked()
    paths = np.array(list(product([0, 1], repeat=4)))
    share = np.exp([model.path_log_prob(Y, path)[0] for path in paths])
    assert_allclose(share.sum(), 1.0, rtol=1e-12)
    drawn = model.sample_paths(Y, 8000, random_state=1)
    found = np.bincount(drawn @ [8, 4, 2, 1], minlength=16) / 8000
    assert np.abs(found - share).max() < 4.0 * np.sqrt(0.25 / 8000)


def test_pointwise_states_may_make_an_impossible_path_and_decoding_never_does():
    # Nothing is seen: the likeliest path stays in 0, while the second row is likelier in 2.
    table = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    silent = np.full((3, 2), 0.5)
    model = HiddenMarkov.from_parameters([0.4, 0.3, 0.3], table, silent)
    assert_allclose(model.predict_proba([0, 0]), [[0.4, 0.3, 0.3], [0.4, 0.0, 0.6]])
    assert model.predict([0, 0]).tolist() == [0, 2]
    assert model.decode([0, 0]).tolist() == [0, 0]
    assert np.isneginf(model.path_log_prob([0, 0], [0, 2])[0])


def test_a_frozen_filter_goes_on_row_by_row():
    model, (x, _) = worked(), spells(RNG, 30, 1)
    x[[4, 9]] = np.nan
    whole, known = model.filter(x), model.filter(x[:10])
    before = known.belief.copy()
    for row in x[10:]:
        known = known.update(row)
    assert_allclose(known.belief, whole.belief, rtol=1e-12)
    assert_allclose(known.log_prob, whole.log_prob, rtol=1e-12)
    assert known.n_rows == 30
    assert_allclose(model.filter(x[:10]).belief, before)


def test_equal_rows_of_transitions_are_a_mixture():
    density = Normal([[0.0], [2.0]], [[1.0], [np.sqrt(0.5)]])
    model = HiddenMarkov.from_parameters([0.6, 0.4], [[0.6, 0.4], [0.6, 0.4]], density)
    terms = np.log([0.6, 0.4]) + density.log_prob(np.array(Y)[:, None])[..., 0]
    assert_allclose(model.log_prob(Y), [np.logaddexp.reduce(terms, axis=1).sum()], rtol=1e-12)
    assert_allclose(model.log_prob(Y), [-5.6623884590], rtol=1e-10)


def test_gaps_are_integrated_out():
    # A missing cell leaves the marginal of the others; a missing row is a step without news.
    cov = np.array([[1.0, 0.6], [0.6, 2.0]])
    density = MultivariateNormal([[0.0, 1.0], [2.0, -1.0]], np.stack([cov, np.eye(2)]))
    first, table = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.3, 0.7]])
    model = HiddenMarkov.from_parameters(first, table, density)
    x = np.array([[0.3, np.nan], [np.nan, np.nan], [1.0, 0.2]])
    own = np.array([stats.norm(0, 1).pdf(0.3), stats.norm(2, 1).pdf(0.3)])
    last = np.exp(density.log_prob(x[2]))
    expected = ((first * own) @ table @ table) @ last
    assert_allclose(np.exp(model.log_prob(x)), [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("k", "start", "minus_log_likelihood", "rates"),
    [
        (1, "free", 391.9189, [19.364]),
        (2, "free", 341.8787, [15.421, 26.018]),
        (3, "free", 328.5275, [13.134, 19.713, 29.710]),
        (2, "stationary", 342.3183, [15.472, 26.125]),
        (3, "stationary", 329.4603, [13.146, 19.721, 29.714]),
    ],
)
def test_earthquakes_have_the_published_fits(k, start, minus_log_likelihood, rates):
    counts = load_set("earthquakes")["count"].to_numpy()
    model = HiddenMarkov(k, "poisson", inference="ml", start=start).fit(counts)
    assert_allclose(-model.log_prob(counts)[0], minus_log_likelihood, atol=1e-4)
    # The minimizer that found the published rates stopped a little short.
    assert_allclose(np.sort(np.ravel(model.emission_.rate)), rates, atol=2e-3)


@pytest.mark.parametrize(
    ("start", "minus_log_likelihood"),
    [
        ("free", 326.6749),
        pytest.param("stationary", 327.8316, marks=pytest.mark.slow),
    ],
)
def test_four_states_of_earthquakes_are_at_least_as_likely_as_published(
    start, minus_log_likelihood
):
    counts = load_set("earthquakes")["count"].to_numpy()
    model = HiddenMarkov(4, "poisson", inference="ml", start=start, n_restarts=16).fit(counts)
    assert -model.log_prob(counts)[0] < minus_log_likelihood + 1e-4


def test_stationary_earthquakes_have_the_published_tables():
    counts = load_set("earthquakes")["count"].to_numpy()
    model = HiddenMarkov(3, "poisson", inference="ml", start="stationary").fit(counts)
    order = np.argsort(np.ravel(model.emission_.rate))
    table = [[0.9546, 0.0244, 0.0209], [0.0498, 0.8994, 0.0509], [0.0, 0.1966, 0.8034]]
    assert_allclose(model.transition_[np.ix_(order, order)], table, atol=2e-4)
    assert_allclose(model.start_[order], [0.4436, 0.4045, 0.1519], atol=2e-4)
    assert_allclose(model.start_, model.stationary(), atol=1e-8)
    assert_allclose(model.bic(counts), 701.0, atol=0.06)


@pytest.mark.parametrize(
    ("k", "log_likelihood", "spread"),
    [
        (1, -3794.95, None),
        (2, -3492.99, [0.611, 1.329]),
        (3, -3444.97, [0.450, 0.773, 1.461]),
    ],
)
def test_daily_returns_have_the_likelihoods_of_another_library(k, log_likelihood, spread):
    x = load_set("sp500").to_numpy()
    model = HiddenMarkov(k, inference="ml").fit(x)
    assert_allclose(model.log_prob(x), [log_likelihood], atol=0.01)
    if spread is not None:
        found = np.sort(np.sqrt(model.emission_.variance()).ravel())
        assert_allclose(found, spread, atol=1e-3)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "spherical"])
@pytest.mark.parametrize("inference", ["map", "ml", "variational"])
def test_no_step_raises_the_free_energy(covariance, inference):
    x, _ = spells(RNG)
    x[RNG.random(x.shape) < 0.1] = np.nan
    model = HiddenMarkov(2, covariance=covariance, inference=inference, n_restarts=2)
    model.fit(x, lengths=[100, 140])
    energy = model.history_.free_energy
    assert len(energy) > 3
    assert np.diff(energy).max() < 1e-7 * abs(energy[-1])


def test_likeliest_parameters_have_no_slope():
    x, _ = spells(RNG, 120, 1)
    model = HiddenMarkov(2, inference="ml").fit(x)
    best = model.log_prob(x)[0]
    scale = np.sqrt(model.emission_.variance()).reshape(2, 1)
    loc = model.emission_.mean().reshape(2, 1)
    for change in (1e-3, -1e-3):
        for k in range(2):
            moved = loc.copy()
            moved[k] += change
            other = HiddenMarkov.from_parameters(
                model.start_, model.transition_, Normal(moved, scale)
            )
            assert other.log_prob(x)[0] < best
            table = model.transition_.copy()
            table[k] += [change, -change]
            other = HiddenMarkov.from_parameters(model.start_, table, Normal(loc, scale))
            assert other.log_prob(x)[0] < best


def test_states_of_spells_are_found():
    x, state = spells(RNG)
    found = HiddenMarkov(2).fit(x).decode(x)
    right = np.mean(found == state)
    assert max(right, 1.0 - right) > 0.97


def test_sequences_come_as_lengths_a_list_or_a_column_of_names():
    x, _ = spells(RNG)
    lengths = [100, 60, 80]
    model = HiddenMarkov(2, n_restarts=1).fit(x, lengths=lengths)
    parts = np.split(x, [100, 160])
    as_list = HiddenMarkov(2, n_restarts=1).fit(parts)
    assert_allclose(as_list.transition_, model.transition_)
    assert_allclose(model.log_prob(parts), model.log_prob(x, lengths=lengths))
    frame = pd.DataFrame(x, columns=["a", "b"])
    frame["run"] = np.repeat(["u", "v", "w"], lengths)
    mixed = frame.iloc[np.argsort(np.arange(240) % 80, kind="stable")]
    named = HiddenMarkov(2, n_restarts=1).fit(frame, lengths="run")
    assert_allclose(named.transition_, model.transition_)
    places = mixed.groupby("run", sort=False).cumcount()
    resorted = mixed.assign(at=places).drop(columns="at")
    share = named.predict_proba(frame, lengths="run")
    assert_allclose(share, model.predict_proba(x, lengths=lengths))
    assert named.predict_proba(resorted, lengths="run").shape == (240, 2)


def test_rows_of_a_table_answer_in_the_places_where_they_came():
    x, _ = spells(RNG, 60, 1)
    frame = pd.DataFrame({"y": x[:, 0], "id": np.where(np.arange(60) % 3 == 1, "b", "a")})
    model = HiddenMarkov(2).fit(frame, lengths="id")
    found = model.predict_proba(frame, lengths="id")
    for name in ("a", "b"):
        is_own = (frame["id"] == name).to_numpy()
        own = model.predict_proba(frame.loc[is_own, ["y"]].reset_index(drop=True))
        assert_allclose(found[is_own], own)


def test_words_and_parts_of_speech():
    # A table of words by part of speech; all tags of a short sentence are enumerated.
    words = ["dogs", "run", "the"]
    table = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]])
    first, step = (
        np.array([0.3, 0.1, 0.6]),
        np.array([[0.2, 0.7, 0.1], [0.3, 0.1, 0.6], [1, 0, 0]]),
    )
    model = HiddenMarkov.from_parameters(first, step, table)
    code = [words.index(w) for w in ("the", "dogs", "run", "the", "dogs")]
    best, total = (-1.0, None), 0.0
    for path in product(range(3), repeat=5):
        p = first[path[0]] * table[path[0], code[0]]
        for t in range(1, 5):
            p *= step[path[t - 1], path[t]] * table[path[t], code[t]]
        total += p
        best = max(best, (p, path))
    assert_allclose(np.exp(model.log_prob(code)), [total], rtol=1e-12)
    assert tuple(model.decode(code)) == best[1]


def test_symbols_are_learned_by_name_and_a_new_one_is_refused():
    state = np.cumsum(RNG.random(400) < 0.1) % 2
    letter = np.where(RNG.random(400) < 0.9, np.array(["x", "y"])[state], "z")
    model = HiddenMarkov(2, "categorical").fit(letter)
    found = model.decode(letter)
    right = np.mean(found == state)
    assert max(right, 1 - right) > 0.9
    assert_allclose(model.emission_.probability.sum(axis=-1), 1.0)
    with pytest.raises(ValueError, match=r"\['x', 'y', 'z'\]; found 'q'"):
        model.log_prob(np.array(["x", "q"]))


def test_columns_of_several_families_are_learned_together():
    state = np.cumsum(RNG.random(300) < 0.06) % 2
    frame = pd.DataFrame(
        {
            "size": RNG.normal(2.0 * state, 1.0),
            "count": RNG.poisson(1.0 + 3.0 * state),
            "kind": np.where(RNG.random(300) < 0.8, np.array(["u", "v"])[state], "w"),
            "flag": RNG.random(300) < 0.2 + 0.5 * state,
        }
    )
    frame.loc[5:9, "size"] = np.nan
    model = HiddenMarkov(2, {"count": "poisson"}).fit(frame)
    right = np.mean(model.predict(frame) == state)
    assert max(right, 1 - right) > 0.95
    rows, path = model.sample(50, random_state=0)
    assert list(rows.columns) == ["size", "count", "kind", "flag"]
    assert set(rows["kind"]) <= {"u", "v", "w"}
    assert path.shape == (50,)


def test_any_belief_about_rows_is_an_emission():
    counts = load_set("earthquakes")[["count"]].to_numpy()
    model = HiddenMarkov(2, GammaPoisson([1.0], 1e-9), inference="ml").fit(counts)
    assert_allclose(-model.log_prob(counts)[0], 341.8787, atol=1e-3)


def test_known_states_stay_as_they_are():
    x, state = spells(RNG, 100, 1)
    labels = np.where(np.arange(100) < 40, 1 - state, -1)
    model = HiddenMarkov(2).fit(x, labels=labels)
    found = model.decode(x)
    assert np.mean(found == 1 - state) > 0.95


def test_left_to_right_chains_never_go_back():
    x = np.concatenate([RNG.normal(m, 0.5, (30, 1)) for m in (0.0, 3.0, -3.0)])
    model = HiddenMarkov(3, transition="left-to-right").fit(x)
    assert (np.tril(model.transition_, -1) == 0).all()
    assert_allclose(model.start_, [1.0, 0.0, 0.0])
    assert_allclose(model.decode(x), np.repeat([0, 1, 2], 30))


def test_banded_and_fixed_transitions_are_kept():
    x = RNG.normal(size=(90, 1)) + np.repeat([0.0, 3.0, 6.0], 30)[:, None]
    band = np.abs(np.subtract.outer(np.arange(3), np.arange(3))) < 2
    model = HiddenMarkov(3, transition=band).fit(x)
    assert (model.transition_[~band] == 0).all()
    table = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    assert_allclose(HiddenMarkov(3, transition=table).fit(x).transition_, table)


def test_new_sequences_have_the_moments_of_the_chain():
    model = worked()
    rows, path = model.sample(20, 2000, random_state=0)
    states = path.reshape(2000, 20)
    assert_allclose(np.mean(states[:, 0]), 0.4, atol=4 * np.sqrt(0.24 / 2000))
    pairs = states[:, :-1].ravel(), states[:, 1:].ravel()
    moved = pairs[1][pairs[0] == 0]
    assert_allclose(moved.mean(), 0.3, atol=4 * np.sqrt(0.21 / len(moved)))
    own = rows.reshape(2000, 20)[states == 1]
    assert_allclose([own.mean(), own.var()], [2.0, 0.5], atol=0.03)
    sharp = HiddenMarkov.from_parameters(
        model.start_, model.transition_, Normal([[3.0], [-2.0]], np.full((2, 1), 1e-9))
    )
    rows, path = sharp.sample(30, random_state=1)
    assert_allclose(rows[:, 0], np.array([3.0, -2.0])[path], rtol=1e-7)


def test_bound_of_one_state_is_the_evidence():
    x, _ = spells(RNG, 40, 2)
    model = HiddenMarkov(1, covariance="diagonal", inference="variational").fit(x)
    rows = model.prior_.rows
    evidence = float(rows.log_evidence(rows.statistics_by_group(x, np.zeros(40, int), 1)).sum())
    assert_allclose(model.bound_, evidence, rtol=1e-9)


def test_bound_is_below_the_evidence_by_enumeration():
    x = np.array([[0.0], [3.0], [2.0], [0.0], [5.0]])
    model = HiddenMarkov(2, "poisson", inference="variational").fit(x)
    prior, total = model.prior_, []
    for path in product([0, 1], repeat=5):
        label = np.array(path)
        first = np.bincount(label[:1], minlength=2).astype(float)
        pairs = np.bincount(label[:-1] * 2 + label[1:], minlength=4).reshape(2, 2)
        rows = prior.rows.statistics_by_group(x, label, 2)
        total.append(
            prior.start.log_evidence(first)
            + prior.transition.log_evidence(pairs.astype(float))
            + float(prior.rows.log_evidence(rows).sum())
        )
    evidence = np.logaddexp.reduce(total)
    assert evidence - 2.0 < model.bound_ < evidence


def test_answers_are_averaged_over_draws():
    x, state = spells(RNG, 120, 2)
    x[[5, 40]], x[60, 0] = np.nan, np.nan
    model = HiddenMarkov(2, inference=BlockedGibbs(150, 50, 1)).fit(x)
    share = model.predict_proba(x)
    right = np.mean(share.argmax(axis=1) == state)
    assert max(right, 1 - right) > 0.95
    each = [chain.log_prob(x, np.array([0, 120]))[0] for chain in model.chains_]
    assert len(each) > 20
    assert_allclose(model.log_prob(x), np.logaddexp.reduce(each) - np.log(len(each)))
    assert model.filter(x).forecast(2).mean().shape == (2, 2)


def test_numbers_of_states_stand_side_by_side():
    x, _ = spells(RNG, 150, 1)
    table = HiddenMarkov(2, n_restarts=1, max_steps=300).state_table(x, [1, 2, 3], n_folds=3)
    assert list(table.columns) == ["bic", "bound", "held_out", "held_out_error"]
    assert table["bic"].idxmin() == table["bound"].idxmax() == 2
    assert table.loc[2, "held_out"] > table.loc[1, "held_out"]
    one = Normal(x.mean(), x.std()).log_prob(x).sum()
    assert_allclose(table.loc[1, "bic"], -2.0 * one + 2.0 * np.log(150), rtol=2e-3)


def test_independent_rows_are_a_mixture_that_another_model_finds():
    x = np.concatenate([RNG.normal(0, 1, (60, 1)), RNG.normal(6, 1, (40, 1))])
    rows = x[RNG.permutation(100)]
    fixed = MixtureModel("normal", 2, inference="map").fit(rows)
    weight = np.exp(fixed.posterior_.log_weight)
    model = HiddenMarkov(2, covariance="diagonal", transition=np.tile(weight, (2, 1))).fit(rows)
    assert_allclose(np.sort(model.emission_.mean().ravel()), [0.0, 6.0], atol=0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lengths": [2, 0, 2]}, "at least 1 for each sequence"),
        ({"lengths": [2, 3]}, "add up to the rows of X; found 5 and 4 rows"),
        ({"lengths": [[4]]}, "whole numbers of rows"),
        ({"labels": [0, 1, 2, 0]}, "a state from 0 to 1"),
    ],
)
def test_wrong_sequences_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        HiddenMarkov(2).fit(Y, **arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_states": 0}, "n_states must be a whole number"),
        ({"emission": "gauss"}, "emission must be one of"),
        ({"emission": 3}, "emission must be one of"),
        ({"emission": {0: "student_t"}}, "emission must be one of"),
        ({"transition": [[0.5, 0.2], [0.5, 0.5]]}, "each row sums to one"),
        ({"transition": np.eye(3)}, "table of 2 x 2"),
        ({"start": "stationary", "inference": "variational"}, "start must be 'free'"),
        ({"start": "steady"}, "start must be one of"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        HiddenMarkov(**settings).fit(Y)


def test_an_empty_sequence_of_a_list_is_refused():
    with pytest.raises(ValueError, match="none in sequence 1"):
        HiddenMarkov(2).fit([np.array(Y), np.empty((0, 1))])


def test_what_no_path_can_have_made_is_refused_and_has_no_probability():
    sure = HiddenMarkov.from_parameters([1.0, 0.0], np.eye(2), np.eye(2))
    assert np.isneginf(sure.log_prob([0, 1])[0])
    for verb in (sure.predict_proba, sure.decode, sure.filter, sure.sample_paths):
        with pytest.raises(ImpossibleSequence, match="sequence 0 is not"):
            verb([0, 1])
    with pytest.raises(ImpossibleSequence):
        sure.filter([0]).update(1)


def test_time_must_run_forward_and_evenly():
    day = pd.date_range("2020-01-01", periods=6)
    frame = pd.DataFrame({"y": RNG.normal(size=6)}, index=day)
    model = HiddenMarkov(2).fit(frame)
    with pytest.raises(ValueError, match="time must run forward"):
        model.predict(frame.iloc[::-1])
    with pytest.raises(ValueError, match="evenly spaced"):
        model.predict(frame.iloc[[0, 1, 3, 4]])
    month = pd.date_range("2020-01-01", periods=6, freq="MS")
    assert len(model.predict(frame.set_index(month))) == 6


def test_tables_that_do_not_sum_to_one_are_no_parameters():
    with pytest.raises(ValueError, match="transition must hold probabilities"):
        HiddenMarkov.from_parameters([0.5, 0.5], [[0.5, 0.6], [0.5, 0.5]], np.eye(2))
    with pytest.raises(ValueError, match="start must hold probabilities"):
        HiddenMarkov.from_parameters([0.5, 0.6], np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="batch shape"):
        HiddenMarkov.from_parameters([0.5, 0.5], np.eye(2), Normal(0.0, 1.0))
    with pytest.raises(ValueError, match="rows and columns"):
        HiddenMarkov.from_parameters([0.5, 0.5], np.eye(3), Categorical(np.eye(2)[:, None]))
