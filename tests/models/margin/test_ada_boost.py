import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from credo import AdaBoost
from credo.models.margin import ada_boost

WORKED_X = np.arange(1.0, 7.0)[:, None]
WORKED_Y = np.array([1, 1, -1, -1, 1, -1])


def noisy(n, seed, flip=0.15):
    """Return rows whose class is a ring, with some labels flipped."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    y = (x[:, :3] ** 2).sum(axis=1) > 2.4
    return x, (y ^ (rng.uniform(size=n) < flip)).astype(int)


def three(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    score = x[:, 0] + 0.5 * x[:, 1] + 0.5 * rng.normal(size=n)
    return x, np.digitize(score, [-0.6, 0.6])


X, Y = noisy(300, 0)
MODEL = AdaBoost(40).fit(X, Y)


def test_three_rounds_match_the_worked_example():
    model = AdaBoost(3).fit(WORKED_X, WORKED_Y)
    assert_allclose(model.members_.threshold, [2.5, 5.5, 4.5])
    assert_allclose(model.estimator_errors_, [1 / 6, 0.2, 0.1875])
    votes = [1.6094379124, 1.3862943611, 1.4663370688]
    assert_allclose(model.estimator_weights_, votes, rtol=1e-9)
    assert_allclose(model.exponential_loss_, [4.472136, 3.577709, 2.792848], rtol=1e-6)
    errors = [np.mean(p != WORKED_Y) for p in model.staged_predict(WORKED_X)]
    assert_allclose(errors, [1 / 6, 1 / 6, 0.0])
    assert_allclose(
        np.abs(model.decision_function(WORKED_X[:1])), votes[0] + votes[1] - votes[2]
    )


def test_the_loss_of_each_round_is_that_of_its_scores_and_falls_by_the_known_factor():
    sign = 2 * Y - 1
    for score, loss in zip(
        MODEL.staged_decision_function(X), MODEL.exponential_loss_, strict=True
    ):
        assert_allclose(np.exp(-0.5 * sign * score).sum(), loss, rtol=1e-9)
    error = MODEL.estimator_errors_
    before = np.append(len(X), MODEL.exponential_loss_[:-1])
    assert_allclose(MODEL.exponential_loss_ / before, 2 * np.sqrt(error * (1 - error)))


def test_the_exponential_loss_bounds_the_number_of_errors():
    wrong = [(p != Y).sum() for p in MODEL.staged_predict(X)]
    assert (MODEL.exponential_loss_ >= wrong).all()


def test_votes_and_weights_are_those_of_scikit_learn_with_stumps_of_equal_error():
    x, y = noisy(200, 3, flip=0.0)
    ours = AdaBoost(10).fit(x, y)
    other = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=10).fit(x, y)
    assert ours.estimator_errors_[0] <= other.estimator_errors_[0] + 1e-12
    same = AdaBoost(10, DecisionTreeClassifier(max_depth=1)).fit(x, y)
    assert_allclose(same.estimator_errors_, other.estimator_errors_)
    assert_allclose(same.estimator_weights_, other.estimator_weights_)
    assert_array_equal(same.predict(x), other.predict(x))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_staged_answers_end_in_the_answers(n_classes):
    x, y = (X, Y) if n_classes == 2 else three(200, 0)
    model = AdaBoost(25).fit(x, y)
    for verb in ("decision_function", "predict_proba", "predict"):
        stages = list(getattr(model, f"staged_{verb}")(x))
        assert len(stages) == model.n_rounds_
        assert_allclose(stages[-1], getattr(model, verb)(x), rtol=1e-9)
    for stage in model.staged_predict_proba(x):
        assert_allclose(stage.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_most_probable_class_has_the_most_votes(n_classes):
    x, y = (X, Y) if n_classes == 2 else three(200, 0)
    model = AdaBoost(25).fit(x, y)
    score = model.decision_function(x)
    voted = (score > 0).astype(int) if n_classes == 2 else score.argmax(axis=1)
    assert_array_equal(model.predict(x), voted)
    wide = np.column_stack([np.zeros(len(score)), score]) if n_classes == 2 else score
    assert_allclose(model.predict_proba(x), special.softmax(wide / model.temperature_, axis=1))


def test_a_tie_is_the_first_class_whatever_rounding_says():
    x = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    model = AdaBoost(2).fit(x, [0, 0, 0, 1])
    model.estimator_weights_ = np.array([0.1 + 0.2, 0.3])
    score = model.decision_function(x)
    assert 0.0 in score
    assert_array_equal(model.predict(x)[score == 0.0], 0)


def test_multi_class_votes_follow_the_edge_over_chance():
    x, y = three(300, 1)
    model = AdaBoost(60).fit(x, y)
    error = model.estimator_errors_
    assert_allclose(model.estimator_weights_, np.log((1 - error) / error) + np.log(2.0))
    assert (error < 2 / 3).all()
    fresh, truth = three(2000, 2)
    other = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=60).fit(x, y)
    assert model.score(fresh, truth) >= other.score(fresh, truth) - 0.03
    assert model.score(fresh, truth) > 0.65


def test_margins_are_votes_for_the_truth_over_all_votes():
    margins = MODEL.margins(X, Y)
    expected = (2 * Y - 1) * MODEL.decision_function(X) / MODEL.estimator_weights_.sum()
    assert_allclose(margins, expected)
    x, y = three(200, 0)
    model = AdaBoost(20).fit(x, y)
    margins = model.margins(x, y)
    assert_array_equal(margins > 0, model.predict(x) == y)
    assert np.abs(margins).max() <= 1.0


def test_the_least_margin_goes_on_growing_after_no_row_is_wrong():
    x = np.random.default_rng(5).uniform(size=(60, 2))
    y = x.sum(axis=1) > 1.0
    model = AdaBoost(400).fit(x, y)
    errors = np.array([np.mean(p != y) for p in model.staged_predict(x)])
    clean = int(np.argmax(errors == 0.0))
    assert errors[clean] == 0.0
    votes = model.decision_function(x) / model.estimator_weights_.sum()
    assert_allclose(model.margins(x, y), np.where(y, votes, -votes), atol=1e-12)
    shorter = AdaBoost(clean + 1).fit(x, y)
    assert model.margins(x, y).min() > shorter.margins(x, y).min() + 0.02


def test_early_stopping_goes_back_to_the_least_held_out_error():
    x, y = noisy(400, 1, flip=0.3)
    model = AdaBoost(300, validation_share=0.3).fit(x, y)
    tried = model.held_out_errors_
    assert len(tried) == 300
    # Of 120 rows held out a whole number is wrong.
    assert_allclose(tried * 120, np.round(tried * 120), atol=1e-9)
    assert model.n_rounds_ == np.argmin(tried) + 1 < 300
    assert len(model.members_) == len(model.estimator_weights_) == model.n_rounds_
    assert model.status_ == "went back to the least held-out error"
    full = AdaBoost(300).fit(x, y)
    assert full.held_out_errors_ is None
    assert full.status_ == "all rounds were run"
    fresh, truth = noisy(4000, 2, flip=0.3)
    assert model.score(fresh, truth) > full.score(fresh, truth) - 0.02


def test_rows_held_out_teach_nothing():
    x, y = noisy(200, 1)
    short = AdaBoost(5, validation_share=0.4).fit(x, y)
    assert_allclose(
        short.exponential_loss_[0] / short.exponential_loss_[0].round(), 1, atol=0.5
    )
    first = short.estimator_errors_[0]
    start = short.exponential_loss_[0] / (2 * np.sqrt(first * (1 - first)))
    assert_allclose(start, 120, atol=2)


def test_probabilities_are_calibrated_where_training_margins_would_be_too_sure():
    x, y = noisy(400, 4, flip=0.2)
    fresh, truth = noisy(20_000, 5, flip=0.2)
    model = AdaBoost(200).fit(x, y)

    def log_loss(temperature):
        score = (2 * truth - 1) * model.decision_function(fresh) / temperature
        return -special.log_expit(score).mean()

    grid = np.geomspace(0.3, 300, 200)
    least = min(log_loss(t) for t in grid)
    assert model.temperature_ > 1.5
    assert log_loss(model.temperature_) < least + 0.01
    assert log_loss(1.0) > least + 0.05


@pytest.mark.parametrize("share", [None, 0.3])
def test_a_settled_copy_differs_from_a_fit_in_nothing_but_how_its_temperature_came(share):
    x, y = noisy(150, 6, flip=0.2)
    model = AdaBoost(20, validation_share=share).fit(x, y)
    again = model.settled().fit(x, y)
    assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    other = AdaBoost(20, validation_share=share, temperature=3.0).fit(x, y)
    assert_array_equal(other.decision_function(x), model.decision_function(x))
    assert other.temperature_ == 3.0 != model.temperature_
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="temperature must be above 0"):
            AdaBoost(temperature=wrong).fit(x, y)


def test_very_many_rows_are_thinned_for_the_temperature_alone(monkeypatch):
    x, y = noisy(3000, 4, flip=0.2)
    whole = AdaBoost(50).fit(x, y)
    monkeypatch.setattr(ada_boost, "_MOST_TAUGHT", 800)
    thinned = AdaBoost(50).fit(x, y)
    assert_array_equal(thinned.estimator_weights_, whole.estimator_weights_)
    assert thinned.temperature_ != whole.temperature_
    assert_allclose(thinned.temperature_, whole.temperature_, rtol=0.25)
    order = np.random.default_rng(0).permutation(3000)
    again = AdaBoost(50).fit(x[order], y[order])
    assert_allclose(again.temperature_, thinned.temperature_, rtol=1e-8)


@pytest.mark.parametrize("most", [7, 60, 61, 80, 1000])
@pytest.mark.parametrize("part", [0, 2, 4])
def test_thinned_rows_are_even_and_never_held_out(monkeypatch, most, part):
    monkeypatch.setattr(ada_boost, "_MOST_TAUGHT", most)
    place = np.random.default_rng(0).permutation(100)
    kept = np.sort(place[ada_boost._taught(place, part, 5)])
    assert len(kept) == min(most, 80)
    assert (kept % 5 != part).all()
    assert np.ptp(np.diff(kept)) <= 100 / most + 2


@pytest.mark.parametrize("share", [None, 0.3])
def test_copies_weights_order_and_units_change_nothing(share):
    x, y = noisy(80, 6)
    copies = np.arange(80) % 3
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(80), copies))
    weighted = AdaBoost(30, validation_share=share).fit(x, y, sample_weight=copies)
    repeated = AdaBoost(30, validation_share=share).fit(8.0 * x[rows] - 3.0, y[rows])
    assert_allclose(weighted.predict_proba(x), repeated.predict_proba(8.0 * x - 3.0), rtol=1e-8)


def test_the_seed_decides_what_is_held_out_and_repeats():
    one, same = (AdaBoost(20, validation_share=0.3, random_state=1).fit(X, Y) for _ in "ab")
    other = AdaBoost(20, validation_share=0.3, random_state=2).fit(X, Y)
    assert_array_equal(one.held_out_errors_, same.held_out_errors_)
    assert not np.array_equal(one.held_out_errors_, other.held_out_errors_)


def test_separable_classes_end_boosting_with_finite_votes():
    x = np.array([[1.0], [2.0], [3.0], [4.0]])
    model = AdaBoost().fit(x, ["a", "a", "b", "b"])
    assert model.n_rounds_ == 1
    assert model.status_ == "a weak classifier makes no error"
    assert np.isfinite(model.predict_proba(x)).all()
    assert_array_equal(model.predict(x), ["a", "a", "b", "b"])


def test_no_edge_gives_even_odds_and_says_so():
    x = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.warns(UserWarning, match="better than chance to vote; found none"):
        model = AdaBoost().fit(x, [0, 0, 1, 1])
    assert model.n_rounds_ == 0
    assert_allclose(model.predict_proba(x), 0.5)


def test_any_weighted_classifier_can_be_boosted():
    x, y = noisy(200, 1, flip=0.0)
    weak = DecisionTreeClassifier(max_depth=2)
    model = AdaBoost(20, weak).fit(x, y)
    assert len(model.members_) == model.n_rounds_
    assert model.score(x, y) > AdaBoost(1, weak).fit(x, y).score(x, y) + 0.05
    assert_array_equal(model.predict(x), AdaBoost(20, weak).fit(x, y).predict(x))
    labels = np.array(["in", "out"])[y]
    assert_array_equal(AdaBoost(20, weak).fit(x, labels).predict(x), labels_of(model, x))
    assert AdaBoost(5, LogisticRegression()).fit(*three(100, 0)).n_rounds_ >= 1


def labels_of(model, x):
    return np.array(["in", "out"])[model.predict(x)]


def test_rounds_are_a_table():
    frame = pd.DataFrame({"size": WORKED_X[:, 0]})
    table = AdaBoost(3).fit(frame, np.where(WORKED_Y > 0, "yes", "no")).rounds()
    assert table["feature"].tolist() == ["size"] * 3
    assert table["above"].tolist() == ["no", "no", "yes"]
    assert_allclose(table["exponential loss"], [4.472136, 3.577709, 2.792848], rtol=1e-6)
    assert table.index.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "kind", "part"),
    [
        ({"n_rounds": 0}, ValueError, "n_rounds must be a whole number, 1 or more; found 0"),
        (
            {"n_rounds": 2.5},
            ValueError,
            "n_rounds must be a whole number, 1 or more; found 2.5",
        ),
        ({"validation_share": 1.0}, ValueError, "above 0 and below 1, or None; found 1.0"),
        ({"validation_share": 1e-9}, ValueError, "must hold out at least one row"),
        (
            {"weak_learner": KNeighborsClassifier()},
            TypeError,
            "fit takes sample_weight; found KN",
        ),
        ({"weak_learner": "stump"}, TypeError, "fit takes sample_weight; found 'stump'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, kind, part):
    with pytest.raises(kind, match=part):
        AdaBoost(**settings).fit(X, Y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        AdaBoost().fit(X, np.ones(len(X)))
