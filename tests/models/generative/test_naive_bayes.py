from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special, stats
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from credo.evaluation import refit_folds
from credo.families import NormalInverseGamma
from credo.models import NaiveBayes

NAN = float("nan")
PRIOR = NormalInverseGamma(location=0.3, strength=0.7, shape=1.5, rate=2.0)
WORKED = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]], dtype=bool)
WORKED_CLASS = np.array([0, 0, 0, 1, 1])


def mixed(n=90, seed=0):
    """Return a frame with a column of each kind but counts, with gaps, and three classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["low", "mid", "high"], n)
    place = pd.Series(y).map({"low": 0, "mid": 1, "high": 2}).to_numpy()
    weight = np.where(rng.uniform(size=n) < 0.1, NAN, rng.normal(place, 1.0))
    site = np.where(rng.uniform(size=n) < 0.3, "north", "south").astype(object)
    site[rng.uniform(size=n) < 0.1] = None
    frame = pd.DataFrame(
        {
            "weight": weight,
            "smokes": rng.uniform(size=n) < 0.2 + 0.3 * place,
            "site": site,
            "size": rng.normal(50.0 - 9.0 * place, 20.0),
        }
    )
    return frame, y


def documents(n=60, n_words=8, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    share = rng.dirichlet(np.full(n_words, 0.5), size=2)
    return rng.multinomial(rng.integers(1, 30, n), share[y]).astype(float), y


# Worked numbers


def test_heart_disease_posterior_is_exact_with_and_without_each_symptom():
    rows = np.array(list(product([True, False], repeat=2)) * 2)
    is_ill = np.repeat([True, False], 4)
    share = np.array([0.024, 0.006, 0.016, 0.004, 0.0019, 0.0076, 0.1881, 0.7524])
    model = NaiveBayes(inference="ml").fit(rows, is_ill, sample_weight=share)
    given = [[1, 1], [1, 0], [0, 1], [0, 0], [1, NAN], [NAN, 1], [NAN, NAN]]
    expected = [240 / 259, 15 / 34, 160 / 2041, 10 / 1891, 60 / 79, 4 / 23, 1 / 20]
    assert_allclose(model.predict_proba(given)[:, 1], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "frequency", "class_share", "expected"),
    [
        (
            NaiveBayes(inference="ml"),
            [[2 / 3, 1 / 3, 2 / 3], [0, 1, 1 / 2]],
            [0.6, 0.4],
            [0.1818181818, 0.8181818182],
        ),
        (
            NaiveBayes(pseudo_count=0.5, class_pseudo_count=0.5),
            [[0.625, 0.375, 0.625], [1 / 6, 5 / 6, 0.5]],
            [7 / 12, 5 / 12],
            [0.2616520535, 0.7383479465],
        ),
        (
            NaiveBayes(),
            [[0.6, 0.4, 0.6], [0.25, 0.75, 0.5]],
            [4 / 7, 3 / 7],
            [0.3127672572, 0.6872327428],
        ),
    ],
)
def test_three_binary_features_give_the_worked_posterior(
    model, frequency, class_share, expected
):
    model.fit(WORKED, WORKED_CLASS)
    assert_allclose(model.predict_proba([[0, 1, 1]])[0], expected, atol=5e-11)
    assert_allclose(model._predictive().one, frequency)
    assert_allclose(model._predictive().classes, class_share)


@pytest.mark.parametrize(("pseudo_count", "expected"), [(1.0, 0.2), (0.5, 0.125)])
def test_a_feature_never_seen_in_three_rows_keeps_its_smoothed_share(pseudo_count, expected):
    x, y = [[False]] * 3 + [[True]], [0, 0, 0, 1]
    model = NaiveBayes(pseudo_count=pseudo_count).fit(x, y)
    assert_allclose(model.posterior_.predictive().one[0], expected)
    nothing = NaiveBayes(pseudo_count=pseudo_count).fit(x, y, sample_weight=[0, 0, 1e-9, 1e-9])
    assert_allclose(nothing.posterior_.predictive().one, 0.5, atol=1e-8)
    assert_allclose(nothing.posterior_.predictive().classes, 0.5)


def test_two_thousand_features_of_small_frequency_stay_finite():
    x = np.zeros((2000, 2000), dtype=bool)
    x[np.arange(2000), np.arange(2000)] = True
    y = np.arange(2000) % 2
    model = NaiveBayes().fit(x, y)
    probability = model.predict_proba(np.ones((1, 2000), dtype=bool))
    assert_allclose(probability.sum(), 1.0)
    assert model.log_prob(np.ones((1, 2000), dtype=bool))[0] < -10_000


# Second library, in the limit of plug-in


def test_maximum_likelihood_on_numbers_is_scikit_learns_gaussian():
    x, y = np.random.default_rng(0).normal(size=(80, 3)), np.arange(80) % 3
    x += y[:, None]
    peer = GaussianNB(var_smoothing=0.0).fit(x, y)
    model = NaiveBayes(inference="ml").fit(x, y)
    assert_allclose(model.predict_proba(x), peer.predict_proba(x), rtol=1e-9)


def test_integrated_numbers_tend_to_plug_in_as_rows_grow():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50_000, 2)), np.arange(50_000) % 2
    x += 0.5 * y[:, None]
    gap = NaiveBayes().fit(x, y).predict_proba(x[:200]) - GaussianNB().fit(x, y).predict_proba(
        x[:200]
    )
    assert 0 < np.abs(gap).max() < 1e-3


def test_smoothed_frequencies_are_scikit_learns():
    x, y = WORKED.astype(float), WORKED_CLASS
    peer = BernoulliNB(alpha=0.7).fit(x, y)
    model = NaiveBayes("bernoulli", pseudo_count=0.7, class_pseudo_count=1e-12).fit(x, y)
    assert_allclose(model.predict_proba(x), peer.predict_proba(x), rtol=1e-9)
    codes = np.random.default_rng(0).integers(0, 3, (40, 4))
    label = np.arange(40) % 2
    peer = CategoricalNB(alpha=0.7).fit(codes, label)
    model = NaiveBayes("categorical", pseudo_count=0.7).fit(codes, label)
    assert_allclose(model.predict_proba(codes), peer.predict_proba(codes), rtol=1e-9)


def test_rows_of_one_word_are_scikit_learns_multinomial():
    counts, y = documents()
    peer = MultinomialNB(alpha=0.5).fit(counts, y)
    model = NaiveBayes("counts", pseudo_count=0.5, class_pseudo_count=1e-12).fit(counts, y)
    assert_allclose(model.predict_proba(np.eye(8)), peer.predict_proba(np.eye(8)), rtol=1e-9)


def test_most_probable_words_are_scikit_learns_multinomial_for_any_row():
    counts, y = documents()
    peer = MultinomialNB(alpha=0.5).fit(counts, y)
    model = NaiveBayes("counts", "map", pseudo_count=1.5, class_pseudo_count=1.0)
    assert_allclose(
        model.fit(counts, y).predict_proba(counts), peer.predict_proba(counts), rtol=1e-9
    )


# Closed forms and brute force


def test_numbers_are_student_t_in_each_class():
    x = np.array([[0.1], [0.5], [0.9], [3.0], [4.0]])
    y = np.array([0, 0, 0, 1, 1])
    model = NaiveBayes(normal_prior=PRIOR).fit(x, y)
    log_joint = []
    for k, n in enumerate([3, 2]):
        part = x[y == k, 0]
        strength, shape = 0.7 + n, 1.5 + n / 2
        loc = (0.7 * 0.3 + part.sum()) / strength
        rate = 2.0 + 0.5 * (part.var() * n + 0.7 * n / strength * (part.mean() - 0.3) ** 2)
        scale = np.sqrt(rate * (strength + 1) / (shape * strength))
        log_joint.append(np.log((n + 1) / 7) + stats.t(2 * shape, loc, scale).logpdf(1.7))
    assert_allclose(model.predict_log_proba([[1.7]])[0], special.log_softmax(log_joint))
    assert_allclose(model.log_prob([[1.7]]), special.logsumexp(log_joint))


def test_posterior_is_bayes_rule_on_the_whole_discrete_table():
    frame, y = mixed()
    columns = ["smokes", "site"]
    model = NaiveBayes().fit(frame[columns], y)
    table = {}
    for label in model.classes_:
        part = frame[y == label]
        for smokes, site in product([True, False], ["north", "south"]):
            seen = part["site"].dropna()
            table[label, smokes, site] = (
                (len(part) + 1)
                / (len(frame) + 3)
                * ((part["smokes"] == smokes).sum() + 1)
                / (len(part) + 2)
                * ((seen == site).sum() + 1)
                / (len(seen) + 2)
            )
    assert_allclose(sum(table.values()), 1.0)
    for smokes, site in product([True, False], ["north", "south"]):
        joint = np.array([table[label, smokes, site] for label in model.classes_])
        row = pd.DataFrame({"smokes": [smokes], "site": [site]})
        assert_allclose(model.predict_proba(row)[0], joint / joint.sum(), rtol=1e-12)
        assert_allclose(model.log_prob(row)[0], np.log(joint.sum()), rtol=1e-12)
        given_smokes = sum(
            np.array([table[label, smokes, s] for label in model.classes_])
            for s in ["north", "south"]
        )
        row["site"] = [None]
        assert_allclose(model.predict_proba(row)[0], given_smokes / given_smokes.sum())


def test_counts_have_the_density_of_a_dirichlet_multinomial():
    counts, y = documents()
    model = NaiveBayes("counts", pseudo_count=0.5).fit(counts, y)
    new = np.array([[3, 0, 1, 0, 0, 2, 0, 40], [0, 0, 0, 1, 0, 0, 0, 0], [0] * 8])
    log_joint = np.column_stack(
        [
            np.log(((y == k).sum() + 1) / 62)
            + stats.dirichlet_multinomial.logpmf(
                new, counts[y == k].sum(axis=0) + 0.5, new.sum(axis=1)
            )
            for k in range(2)
        ]
    )
    assert_allclose(model.log_prob(new), special.logsumexp(log_joint, axis=1), rtol=1e-10)
    assert_allclose(model.predict_proba(new), special.softmax(log_joint, axis=1), rtol=1e-9)


def test_integrated_text_is_less_sure_than_plug_in():
    counts, y = documents(n=10)
    plug_in = MultinomialNB().fit(counts, y).predict_proba(counts * 5.0).max(axis=1)
    assert NaiveBayes("counts").fit(counts, y).predict_proba(counts * 5.0).max(
        axis=1
    ).mean() < (plug_in.mean())


def test_mixed_columns_add_the_log_likelihoods_of_separate_models():
    frame, y = mixed()
    frame["hits"] = np.arange(len(frame)) % 4
    frame["misses"] = (np.arange(len(frame)) * 7) % 5
    kinds = {"hits": "counts", "misses": "counts"}
    whole = NaiveBayes(kinds).fit(frame, y)
    parts = [["weight", "size"], ["smokes"], ["site"], ["hits", "misses"]]
    log_prior = np.log(whole.posterior_.classes.predictive().probability)
    total = log_prior.copy()
    for part in parts:
        kind = "counts" if "hits" in part else None
        alone = NaiveBayes(kind).fit(frame[part], y)
        total = total + alone.predict_log_proba(frame[part]) - log_prior
    assert_allclose(whole.predict_proba(frame), special.softmax(total, axis=1), rtol=1e-9)


def test_evidence_is_the_product_of_one_step_predictions():
    rng = np.random.default_rng(3)
    n = 12
    frame = pd.DataFrame(
        {
            "x": np.where(rng.uniform(size=n) < 0.2, NAN, rng.normal(size=n)),
            "b": rng.uniform(size=n) < 0.4,
            "c": pd.Categorical(rng.choice(list("uvw"), n), categories=list("uvw")),
            "hits": rng.integers(0, 4, n),
            "misses": rng.integers(0, 4, n),
        }
    )
    y = rng.integers(0, 2, n)
    kinds = {"hits": "counts", "misses": "counts"}
    model = NaiveBayes(kinds, normal_prior=PRIOR)
    whole = NaiveBayes(kinds, normal_prior=PRIOR).fit(frame, y)
    model.partial_fit(frame[:1], y[:1], classes=[0, 1], sample_weight=[0.0])
    assert model.log_evidence_ == 0.0
    total = 0.0
    for i in range(n):
        row = frame[i : i + 1]
        total += model.log_prob(row)[0] + model.predict_log_proba(row)[0, y[i]]
        model.partial_fit(row, y[i : i + 1])
        assert_allclose(model.log_evidence_, total, rtol=1e-10)
    assert_allclose(whole.log_evidence_, total, rtol=1e-10)
    assert whole.evidence_method_ == "exact"
    assert whole.evidence_of_.startswith("X and y, X as")


# Streams, folds, weights, units, tables


def chunks_of(frame, y, size=25):
    return [(frame[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]


def test_a_stream_equals_the_batch_though_categories_appear_late():
    frame, y = mixed()
    frame.loc[frame.index[-5:], "site"] = "island"
    batch = NaiveBayes().fit(frame, y)
    stream = NaiveBayes()
    for part, labels in chunks_of(frame, y):
        stream.partial_fit(part, labels, classes=["high", "low", "mid"])
    assert stream.statistics_.categories[0].states.tolist() == ["island", "north", "south"]
    assert_allclose(stream.predict_proba(frame), batch.predict_proba(frame), rtol=1e-9)
    assert_allclose(stream.log_evidence_, batch.log_evidence_, rtol=1e-10)


def test_fits_from_fold_statistics_equal_fits_to_the_other_folds():
    x, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    x = np.column_stack([x + y[:, None], np.arange(60) % 5])
    fold = np.arange(60) // 20
    kinds = {2: "categorical"}
    model = NaiveBayes(kinds)
    parts = model.summarize_groups(x, y, fold, 3)
    for i in range(3):
        others = [parts[j] for j in range(3) if j != i]
        found = NaiveBayes(kinds)
        found.summarize_groups(x, y, fold, 3)
        found.fit_statistics(others[0] + others[1])
        expected = NaiveBayes(kinds).fit(x[fold != i], y[fold != i])
        assert_allclose(found.predict_proba(x), expected.predict_proba(x), rtol=1e-9)
        assert_allclose(found.log_evidence_, expected.log_evidence_, rtol=1e-10)


def test_cross_validation_refits_from_statistics():
    frame, y = mixed()
    codes = np.unique(y, return_inverse=True)[1]
    fold = np.arange(len(y)) % 3
    for i, model in enumerate(refit_folds(NaiveBayes(), frame, codes, fold)):
        expected = NaiveBayes().fit(frame[fold != i], codes[fold != i])
        assert_allclose(model.predict_proba(frame), expected.predict_proba(frame), rtol=1e-9)


def test_a_missing_value_equals_an_absent_column():
    frame, y = mixed()
    model = NaiveBayes().fit(frame, y)
    blank = frame.assign(size=NAN)
    without = NaiveBayes().fit(frame.drop(columns="size"), y)
    assert_allclose(
        model.predict_proba(blank), without.predict_proba(frame.drop(columns="size"))
    )
    assert_allclose(model.log_prob(blank), without.log_prob(frame.drop(columns="size")))


@pytest.mark.parametrize("inference", ["exact", "map", "ml"])
def test_a_category_that_is_missing_in_all_rows_says_nothing(inference):
    rest = np.array([[1.0], [2.0], [2.0], [1.0], [2.0]])
    gone, y = np.column_stack([np.full(5, NAN), rest]), [0, 1, 1, 0, 0]
    model = NaiveBayes(kinds="categorical", inference=inference).fit(gone, y)
    without = NaiveBayes(kinds="categorical", inference=inference).fit(rest, y)
    assert_allclose(model.predict_proba(gone), without.predict_proba(rest))
    new = np.column_stack([np.arange(5.0), rest])
    assert_allclose(model.predict_proba(new), without.predict_proba(rest))
    table, classes = model.sample(20, random_state=0)
    drawn = np.asarray(table, dtype=float)
    assert np.isnan(drawn[:, 0]).all()
    assert set(drawn[:, 1]) == {1.0, 2.0}
    assert set(classes) == {0, 1}
    alone = NaiveBayes(kinds="categorical", inference=inference).fit(gone[:, :1], y)
    assert_allclose(alone.predict_proba(gone[:, :1]).std(axis=0), 0.0)


def test_a_missing_number_is_integrated_out():
    x, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model = NaiveBayes().fit(x, y)
    grid = np.linspace(-400, 400, 400_001)
    density = np.exp(model.log_prob(np.column_stack([grid, np.full(grid.size, 0.3)])))
    mass = np.trapezoid(density, grid)
    assert_allclose(np.log(mass), model.log_prob([[NAN, 0.3]])[0], rtol=1e-5)


def test_a_row_with_a_missing_count_says_nothing_by_its_counts():
    counts, y = documents()
    gap = counts.copy()
    gap[0, 3] = NAN
    model = NaiveBayes("counts").fit(gap, y)
    assert_allclose(
        model.statistics_.words.counts,
        NaiveBayes("counts")
        .fit(np.where(np.arange(60)[:, None] > 0, counts, 0.0), y)
        .statistics_.words.counts,
    )
    assert_allclose(
        model.predict_proba(gap[:1])[0], model.posterior_.classes.predictive().probability
    )


def test_a_category_never_seen_says_nothing_and_a_declared_one_is_smoothed():
    frame, y = mixed()
    model = NaiveBayes().fit(frame[["site"]], y)
    new = model.predict_proba(pd.DataFrame({"site": ["moon"]}))[0]
    assert_allclose(new, model.posterior_.classes.predictive().probability)
    declared = frame["site"].astype(pd.CategoricalDtype(["moon", "north", "south"]))
    model = NaiveBayes().fit(declared.to_frame(), y)
    seen = np.array([frame["site"][y == label].notna().sum() for label in model.classes_])
    share = (np.array([(y == label).sum() for label in model.classes_]) + 1) / (seen + 3)
    found = model.predict_proba(pd.DataFrame({"site": ["moon"]}))[0]
    assert_allclose(found, share / share.sum())


def test_units_of_numbers_do_not_matter():
    frame, y = mixed()
    moved = frame.assign(weight=frame["weight"] * 1e12 + 3e12, size=frame["size"] * 1e-150)
    assert_allclose(
        NaiveBayes().fit(moved, y).predict_proba(moved),
        NaiveBayes().fit(frame, y).predict_proba(frame),
        rtol=1e-5,
    )


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_counts_equal_dense_counts(form):
    counts, y = documents()
    dense = NaiveBayes("counts").fit(counts, y)
    model = NaiveBayes().fit(form(counts), y)
    assert_allclose(model.predict_proba(form(counts)), dense.predict_proba(counts))
    assert_allclose(model.log_prob(form(counts)), dense.log_prob(counts))
    assert_allclose(model.log_evidence_, dense.log_evidence_)
    stored = sparse.csr_array((np.array([1.0, 0.0]), ([0, 0], [1, 2])), shape=(1, 8))
    for inference in ("exact", "ml"):
        model = NaiveBayes(inference=inference).fit(sparse.csr_array(counts), y)
        assert_allclose(model.predict_proba(stored), model.predict_proba(stored.toarray()))


def test_a_few_texts_are_told_apart_by_their_words():
    texts = ["sun beach sun", "beach swim", "snow ski", "ski snow snow ice"]
    words = sorted({word for text in texts for word in text.split()})
    counts = sparse.csr_array([[text.split().count(w) for w in words] for text in texts])
    model = NaiveBayes().fit(counts, ["summer", "summer", "winter", "winter"])
    new = sparse.csr_array([[["swim", "sun"].count(w) for w in words]])
    # Words of summer and winter: 5 and 6, with 6 imagined of each; two different words.
    joint = np.array([2 * 3 / (11 * 12), 1 * 1 / (12 * 13)])
    assert_allclose(model.predict_proba(new)[0], joint / joint.sum())


def test_frames_arrays_of_objects_and_polars_agree():
    frame, y = mixed()
    expected = NaiveBayes().fit(frame, y).predict_proba(frame)
    objects = frame.astype(object).to_numpy()
    polar = pl.from_pandas(frame.assign(site=frame["site"].astype(object)))
    for table in (objects, polar):
        model = NaiveBayes().fit(table, y)
        assert model.kinds_ == ("gaussian", "bernoulli", "categorical", "gaussian")
        assert_allclose(model.predict_proba(table), expected)
    enum = polar.with_columns(pl.col("site").cast(pl.Enum(["moon", "north", "south"])))
    states = NaiveBayes().fit(enum, y).statistics_.categories[0].states
    assert states.tolist() == ["moon", "north", "south"]


def test_kinds_follow_the_type_of_a_column_and_the_user():
    frame = pd.DataFrame(
        {
            "a": [1, 2, 3, 4],
            "b": pd.array([True, None, False, True], dtype="boolean"),
            "c": ["u", "v", None, "u"],
            "d": pd.array([1, 2, None, 4], dtype="Int64"),
            "e": pd.Categorical([1, 2, 1, 2]),
        }
    )
    y = [0, 1, 0, 1]
    by_type = NaiveBayes().fit(frame, y).kinds_
    assert by_type == ("gaussian", "bernoulli", "categorical", "gaussian", "categorical")
    chosen = NaiveBayes({"a": "categorical", 3: "counts"}).fit(frame, y)
    assert chosen.kinds_ == ("categorical", "bernoulli", "categorical", "counts", "categorical")
    assert NaiveBayes().fit(np.eye(4, dtype=bool), y).kinds_ == ("bernoulli",) * 4
    assert NaiveBayes().fit(np.array([["a"], ["b"], ["a"], ["b"]]), y).kinds_ == (
        "categorical",
    )
    whole = NaiveBayes("categorical").fit([[1], [2], [1], [2]], y)
    assert_allclose(whole.predict_proba([[1.0]]), whole.predict_proba(np.array([[1]])))


def test_far_rows_and_many_powers_keep_their_log_density():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 12)), np.arange(40) % 2
    x[rng.uniform(size=x.shape) < 0.2] = NAN
    model = NaiveBayes().fit(x, y)
    numbers = model.posterior_.numbers.predictive()
    log_class = np.log(model.posterior_.classes.predictive().probability)
    new = np.concatenate([x, 1e3 * x, 1e20 * x, 1e160 * x, 1e300 * rng.normal(size=(3, 12))])
    expected = log_class + np.nansum(numbers.log_prob(new[:, None, :]), axis=-1)
    found = model.log_prob(new)
    assert_allclose(found, special.logsumexp(expected, axis=1), rtol=1e-12)


def test_samples_have_the_frequencies_and_moments_of_the_predictive():
    frame, y = mixed(n=600)
    model = NaiveBayes().fit(frame, y)
    rows, labels = model.sample(40_000, random_state=0)
    assert list(rows.columns) == list(frame.columns)
    predictive = model.posterior_.predictive()
    for k, label in enumerate(model.classes_):
        part = rows[labels == label]
        assert_allclose(len(part) / 40_000, predictive.classes[k], atol=0.01)
        assert_allclose(part["smokes"].mean(), predictive.one[k, 0], atol=0.02)
        north = (part["site"] == "north").mean()
        assert_allclose(north, predictive.categories[0][k, 0], atol=0.02)
        assert_allclose(part["weight"].mean(), predictive.numbers.loc[k, 0], atol=0.05)
        assert_allclose(part["size"].std(), predictive.numbers.std()[k, 1], rtol=0.05)


def test_sampled_counts_have_the_length_asked_for_and_the_expected_shares():
    counts, y = documents()
    model = NaiveBayes("counts").fit(counts, y)
    rows, labels = model.sample(20_000, random_state=0, length=10)
    assert_array_equal(rows.sum(axis=1), 10)
    share = model.posterior_.words.predictive().probability
    assert_allclose(rows[labels == 1].mean(axis=0) / 10, share[1], atol=0.01)
    plug_in, _ = NaiveBayes("counts", "ml").fit(counts, y).sample(5, random_state=0)
    assert_array_equal(plug_in.sum(axis=1), round(counts.sum() / 60))


def test_a_loss_moves_the_decision_away_from_the_likelier_class():
    model = NaiveBayes().fit(WORKED, WORKED_CLASS)
    action = model.decide([[0, 1, 1]], [[0.0, 1.0], [9.0, 0.0]]).action
    assert model.predict([[0, 1, 1]]).tolist() == [1]
    assert action.tolist() == [0]


# Plug-in


def test_most_probable_parameters_under_one_imagined_row_are_counting():
    frame, y = mixed()
    discrete = frame[["smokes", "site"]]
    assert_allclose(
        NaiveBayes(inference="map").fit(discrete, y).predict_proba(discrete),
        NaiveBayes(inference="ml").fit(discrete, y).predict_proba(discrete),
    )


def test_most_probable_numbers_are_the_mode_of_the_belief():
    x, y = np.array([[0.0], [1.0], [5.0], [6.5]]), [0, 0, 1, 1]
    model = NaiveBayes(inference="map", normal_prior=PRIOR).fit(x, y)
    mode = model.posterior_.numbers.mode()
    joint = stats.norm(mode.loc[:, 0], mode.scale[:, 0]).logpdf(3.0)
    assert_allclose(model.predict_log_proba([[3.0]])[0], special.log_softmax(joint))
    assert model.log_evidence_ == NaiveBayes(normal_prior=PRIOR).fit(x, y).log_evidence_


def test_counting_can_rule_a_class_out_but_not_all():
    x = np.array([[1, 1], [1, 0], [0, 0]], dtype=bool)
    model = NaiveBayes(inference="ml").fit(x, ["a", "a", "b"])
    assert_array_equal(model.predict_proba([[1, 1]]), [[1.0, 0.0]])
    assert_array_equal(model.predict_log_proba([[1, 1]]), [[0.0, -np.inf]])
    model = NaiveBayes(inference="ml").fit([[True], [True], [True]], ["a", "a", "b"])
    for answer in (model.predict, model.predict_proba, model.predict_log_proba):
        with pytest.raises(
            ValueError, match=r"-inf in all classes at row 1.*inference='exact'"
        ):
            answer([[1], [0]])
    assert np.isnan(model.log_evidence_)
    assert model.evidence_method_ == "none"


def test_a_number_that_does_not_vary_in_a_class_keeps_a_floor():
    x = np.array([[1.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]])
    for inference in ("ml", "map", "exact"):
        model = NaiveBayes(inference=inference).fit(x, [0, 0, 1, 1])
        assert model.predict(x).tolist() == [0, 0, 1, 1]
        assert np.isfinite(model.predict_log_proba(x)).all()


def test_a_class_without_any_value_of_a_column_leans_on_all_rows():
    x = [[1.0], [2.0], [NAN], [NAN]]
    model = NaiveBayes(inference="ml").fit(x, [0, 0, 1, 1])
    assert_allclose(model.predict_proba([[1.5]]), 0.5)


# Bad input


@pytest.mark.parametrize(
    ("model", "x", "message"),
    [
        (NaiveBayes(inference="vb"), [[1.0], [2.0]], "inference must be one of"),
        (NaiveBayes(pseudo_count=0.0), [[1.0], [2.0]], "pseudo_count must be positive"),
        (NaiveBayes("normal"), [[1.0], [2.0]], "kinds must be one of"),
        (NaiveBayes({"a": "gaussian"}), [[1.0], [2.0]], "kinds must name columns"),
        (NaiveBayes({0: "poisson"}), [[1.0], [2.0]], r"kinds\[0\] must be one of"),
        (NaiveBayes("bernoulli"), [[1.0], [2.0]], "must be 0, 1 or NaN; found 2"),
        (NaiveBayes("counts"), [[1.0], [-2.0]], "counts must be non-negative"),
        (NaiveBayes(), [[1.0], [np.inf]], "must be finite; found inf"),
        (NaiveBayes("gaussian"), [["a"], ["b"]], "must hold numbers"),
        (NaiveBayes(), pd.DataFrame({"a": []}), "at least one row"),
        (NaiveBayes("gaussian"), sparse.csr_array([[1.0], [2.0]]), "must be counts"),
        (
            NaiveBayes(),
            pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
            "X must hold numbers; found dates or durations",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_words(model, x, message):
    with pytest.raises(ValueError, match=message):
        model.fit(x, [0, 1])


@pytest.mark.parametrize(
    ("model", "x"),
    [
        (NaiveBayes(["gaussian"]), [[1.0], [2.0]]),
        (NaiveBayes(normal_prior=3.0), [[1.0], [2.0]]),
        (NaiveBayes(), np.array([[{"a": 1}], [2.0]], dtype=object)),
    ],
)
def test_things_of_the_wrong_type_are_refused(model, x):
    with pytest.raises(TypeError, match=r"must be .*; found"):
        model.fit(x, [0, 1])


def test_labels_that_cannot_be_learned_are_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        NaiveBayes().fit([[1.0], [2.0]], ["a", "a"])
    stream = NaiveBayes().partial_fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ValueError, match=r"classes seen at the first fit.*found \['c'\]"):
        stream.partial_fit([[1.0]], ["c"])


def test_new_rows_that_do_not_fit_the_columns_are_refused():
    frame, y = mixed()
    model = NaiveBayes().fit(frame, y)
    with pytest.raises(ValueError, match="'weight' must hold numbers"):
        model.predict(frame.assign(weight="heavy"))
    with pytest.raises(ValueError, match="all text or all numbers"):
        model.predict(frame.assign(site=1.0))
    with pytest.raises(ValueError, match="Bernoulli columns must hold 0, 1 or NaN"):
        model.predict(frame.assign(smokes=0.5))
    with pytest.raises(ValueError, match="finite"):
        model.predict(frame.assign(weight=np.inf))
    with pytest.raises(ValueError, match="non-negative"):
        NaiveBayes("counts").fit(np.eye(2), [0, 1]).predict([[-1.0, 0.0]])


def test_evidences_of_densities_and_of_probabilities_are_not_about_the_same():
    x, y = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]] * 3), [0, 1, 1, 0] * 3
    assert NaiveBayes().fit(x, y).evidence_of_ == "X and y"
    mixed = NaiveBayes({0: "bernoulli", 1: "gaussian"}).fit(x, y)
    assert mixed.evidence_of_ == "X and y, X as 1 bernoulli, 1 gaussian"


@pytest.mark.parametrize("inference", ["exact", "map", "ml"])
@pytest.mark.parametrize("value", [0.1, 3.3, 7.7, 0.0, 1e15])
def test_a_constant_number_says_nothing_about_the_class(inference, value):
    rng = np.random.default_rng(4)
    y = (rng.uniform(size=200) < 0.1).astype(int)
    x = rng.normal(size=(200, 2)) + y[:, None]
    wide = np.column_stack([x, np.full((200, 3), value)])
    expected = NaiveBayes(inference=inference).fit(x, y).predict_proba(x)
    model = NaiveBayes(inference=inference).fit(wide, y)
    assert_allclose(model.predict_proba(wide), expected, rtol=1e-9)
    wide[:, 2] += 5.0
    assert_allclose(model.predict_proba(wide), expected, rtol=1e-9)
    assert abs(model.log_evidence_) < np.inf or inference == "ml"


def test_a_constant_number_counts_under_a_prior_that_knows_its_unit():
    x, y = [[1.0], [1.0], [1.0], [1.0], [1.0]], [0, 0, 0, 0, 1]
    known = NormalInverseGamma(0.0, 1.0, 1.0, 1.0)
    found = NaiveBayes(normal_prior=known).fit(x, y).predict_proba([[1.0]])
    assert_allclose(NaiveBayes().fit(x, y).predict_proba([[1.0]]), [[5 / 7, 2 / 7]])
    assert found[0, 0] > 0.75


def test_the_weak_prior_of_numbers_has_the_variance_within_classes():
    x, y = [[0.0], [2.0], [100.0], [102.0]], [0, 0, 1, 1]
    assert_allclose(NaiveBayes().fit(x, y).prior_.numbers.rate, [1.0])
    assert_allclose(NaiveBayes().fit(x, y).prior_.numbers.location, [51.0])
    apart = [[0.1], [0.1], [100.3], [100.3]]
    assert_allclose(NaiveBayes().fit(apart, y).prior_.numbers.rate, [50.1**2])


def test_diagnosis_tells_enough_rows_from_too_few():
    x, y = np.arange(8.0)[:, None] ** 2, np.arange(8) % 2
    assert NaiveBayes().fit(x, y).diagnose().is_sound
    few = NaiveBayes().fit(x[:7], y[:7]).diagnose()
    assert not few.is_sound
    assert few.numbers["rows_of_rarest_class"] == 3
    assert NaiveBayes("categorical").fit(x[:7], y[:7]).diagnose().is_sound


def test_categories_in_foreign_byte_order_are_the_same_categories():
    x, y = np.array([[1.0], [2.0], [1.0], [2.0]]), [0, 1, 0, 1]
    model = NaiveBayes(kinds="categorical").fit(x.astype(">f8"), y)
    expected = NaiveBayes(kinds="categorical").fit(x, y).predict_proba(x)
    np.testing.assert_allclose(model.predict_proba(x.astype(">f8")), expected)
