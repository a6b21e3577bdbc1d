"""Gaussian processes of a slate: where they are offered, fitted with gaps, and with noise."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import credo
from credo import GaussianProcessRegressor
from credo.data.table.preparation import PreparedTable
from credo.evaluation import fold_labels
from credo.models.gaps.gap_average import average_over_gaps
from credo.models.gaps.row_completion import CompletedRows, RowCompletion
from credo.study.candidates import process
from credo.study.candidates.process import (
    affordable,
    class_process_slate,
    has_varying_noise,
    process_slate,
)
from credo.study.job import fit_table
from credo.study.progress import silent
from credo.study.regression import regression_slate, retrained, trained
from credo.study.result.held_out import Part
from credo.study.result.result import FitSettings
from credo.validation.splits import hold_out

RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + RNG.normal(0, 0.2, 60)
FOLD = fold_labels(60, 4, np.random.default_rng(1))
NAMES = ("a", "b")


def slate_of_processes():
    return regression_slate(X).only(["linear", "process"])


def training_of(values):
    completion = RowCompletion.learn(values, Y)
    part = Part(PreparedTable(values, NAMES, ()), Y, np.arange(60))
    return completion, trained(slate_of_processes(), completion, part, FOLD, silent)


def test_folds_of_a_process_are_those_of_fits_to_the_others_at_its_settings():
    _, (average, folds) = training_of(X)
    model = average.named_estimators_["process"]
    frame = pd.DataFrame(X, columns=NAMES)
    for k in range(4):
        own = np.isin(FOLD, k)
        rest = ~own
        alone = model.conditioned(frame[rest], Y[rest])
        wanted = alone.predict_dist(frame[own])
        assert_allclose(folds[-1].log_score[own], wanted.log_prob(Y[own]), rtol=1e-6)
        assert_allclose(folds[-1].mean[own], wanted.mean(), rtol=1e-6, atol=1e-8)
        assert_allclose(folds[-1].log_evidence[k], alone.log_evidence_, rtol=1e-8)


def test_many_rows_have_inducing_inputs_and_forget_folds_by_them(monkeypatch):
    monkeypatch.setattr(process, "MAX_EXACT_ROWS", 50)
    _, (average, folds) = training_of(X)
    model = average.named_estimators_["process"]
    assert model.method_ == "SparseProcess"
    frame = pd.DataFrame(X, columns=NAMES)
    own = FOLD == 2
    alone = model.conditioned(frame[~own], Y[~own])
    wanted = alone.predict_dist(frame[own])
    assert_allclose(folds[-1].log_score[own], wanted.log_prob(Y[own]), rtol=1e-6)
    assert_allclose(folds[-1].log_evidence[2], alone.log_evidence_, rtol=1e-8)


def test_rows_with_gaps_are_averaged_over_in_folds_too():
    values = np.where(np.random.default_rng(2).random(X.shape) < 0.05, np.nan, X)
    completion, (average, folds) = training_of(values)
    model = average.named_estimators_["process"]
    rows = completion.training(values, Y)
    left_out = np.flatnonzero(FOLD[rows.row] == 0)
    frame = pd.DataFrame(rows.X, columns=NAMES)
    without = model.forgetting(frame, Y[rows.row], rows.weight)(left_out)
    asked = pd.DataFrame(values[FOLD == 0], columns=NAMES)
    wanted = average_over_gaps(without, completion, asked)
    assert np.isnan(values[FOLD == 0]).any()
    assert_allclose(folds[-1].log_score[FOLD == 0], wanted.log_prob(Y[FOLD == 0]), rtol=1e-6)
    assert_allclose(folds[-1].mean[FOLD == 0], wanted.mean(), rtol=1e-6, atol=1e-8)


def test_learned_again_a_process_keeps_its_settings_and_knows_more_rows():
    completion, (average, _) = training_of(X)
    more = np.vstack([X, X + 0.01])
    table, y = PreparedTable(more, NAMES, ()), np.concatenate([Y, Y])
    again = retrained(average, completion, table, y)
    before, after = (m.named_estimators_["process"] for m in (average, again))
    assert_allclose(after.log_parameters_, before.log_parameters_)
    assert len(after.posterior_.data.x) == 120
    wanted = before.conditioned(pd.DataFrame(more, columns=NAMES), y)
    assert_allclose(after.log_evidence_, wanted.log_evidence_)


def test_processes_are_left_out_with_a_reason(monkeypatch):
    wide = np.random.default_rng(0).normal(size=(60, 41))
    assert process_slate(wide).candidates == ()
    assert "41 length scales" in process_slate(wide).notes[0]
    assert process_slate(X[:10]).notes == ()
    slate = process_slate(X)
    assert len(slate.candidates) == 1
    assert affordable(slate, 100) == slate
    left = affordable(slate, 10_000)
    assert left.candidates == ()
    assert "10,000 completions" in left.notes[0]
    monkeypatch.setattr(process, "MAX_PROCESS_ROWS", 50)
    assert "60 training rows" in process_slate(X).notes[0]


def test_a_column_that_does_not_vary_has_no_length_scale():
    rows = np.column_stack([X, np.ones(60)])
    model = dict(process_slate(rows).candidates)["process"]
    assert len(model.fit(rows, Y).kernel_.parameters) == 3


@pytest.mark.parametrize("is_varying", [False, True])
def test_noise_that_follows_a_column_is_noticed(is_varying):
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, size=(250, 2))
    scale = np.where((x[:, 0] > 0) & is_varying, 0.5, 0.1)
    y = np.sin(2 * x[:, 0] * x[:, 1]) + scale * rng.standard_normal(250)
    model = GaussianProcessRegressor().fit(x, y)
    assert has_varying_noise(model, x, y) is is_varying
    assert not has_varying_noise(model.fit(x[:50], y[:50]), x[:50], y[:50])
    frame = pd.DataFrame(x, columns=NAMES).assign(y=y)
    names = [score.name for score in fit_table(frame, "y").candidates]
    assert any(name.endswith(" + noise") for name in names) is is_varying


def test_a_process_that_was_named_stands_beside_the_constant_alone():
    frame = pd.DataFrame(X, columns=NAMES).assign(y=Y)
    result = fit_table(frame, "y", FitSettings(models=("process",)))
    assert [score.name for score in result.candidates] == ["constant", "process"]
    assert result.winner.name == "process"
    assert result.winner.n_terms == 0


def test_a_table_with_gaps_is_saved_with_its_process_and_predicts_as_before(tmp_path):
    frame = pd.DataFrame(X, columns=NAMES).assign(y=Y)
    frame.loc[::20, "a"] = None
    study = credo.fit(frame, "y", models=("linear", "process"))
    study.save(tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    pd.testing.assert_frame_equal(loaded.predict_frame(frame), study.predict_frame(frame))
    assert "process" in loaded.table().index


def test_a_fast_fit_has_no_process():
    frame = pd.DataFrame(X, columns=NAMES).assign(y=Y)
    names = [score.name for score in fit_table(frame, "y", FitSettings(fast=True)).candidates]
    assert names
    assert not any("process" in name for name in names)


def test_a_level_that_only_test_rows_have_gives_the_process_more_columns():
    frame = pd.DataFrame(X, columns=NAMES).assign(site="here", y=Y)
    _, test = hold_out(60, 0.2, np.random.default_rng(0).spawn(2)[0])
    frame.loc[test, "site"] = "moon"
    result = fit_table(frame, "y", FitSettings(models=("process",)))
    before, after = result.training, result.model.average
    n_columns = [m.named_estimators_["process"].n_features_in_ for m in (before, after)]
    assert n_columns[1] > n_columns[0]


def test_all_completions_of_a_row_are_left_out_together():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(60, 2))
    y = np.sin(2 * x[:, 0]) + 0.3 * rng.standard_normal(60)
    copies = np.repeat(x[:, None], 2, axis=1)
    copies[:, :, 1] += 1e-3 * rng.standard_normal((60, 2))
    rows = CompletedRows(copies.reshape(-1, 2), np.repeat(np.arange(60), 2), np.full(120, 0.5))
    inputs, outcome = pd.DataFrame(rows.X, columns=NAMES), y[rows.row]
    model = GaussianProcessRegressor(method="exact").fit(inputs, outcome, rows.weight)
    sizes = process._held_out_sizes(model, inputs, outcome, rows)
    plain = GaussianProcessRegressor(
        model.kernel_.hold(), noise=model.noise_variance_, method="exact"
    )
    for row in (0, 30, 59):
        fold = np.random.default_rng(0).integers(process.VARYING_FOLDS, size=60)
        kept = fold != fold[row]
        plain.fit(x[kept], y[kept])
        found = plain.predict_dist(x[[row]])
        expected = abs(y[row] - found.mean()[0]) / found.std()[0]
        assert_allclose(sizes[2 * row], expected, rtol=0.15)
    assert not has_varying_noise(model, inputs, outcome, rows)


def test_many_rows_of_classes_have_a_process_by_inducing_inputs(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(1_100, 2))
    assert dict(class_process_slate(rows[:1_000], 2).candidates)["process"].n_inducing is None
    assert dict(class_process_slate(rows, 2).candidates)["process"].n_inducing == 200
    assert dict(class_process_slate(rows[:300], 3).candidates)["process"].n_inducing is None
    assert class_process_slate(rows[:400], 3).candidates == ()
    few = class_process_slate(np.tile(rows, (10, 1)), 2)
    assert few.candidates == ()
    assert "11,000 training rows are more than the 10,000" in few.notes[0]
    monkeypatch.setattr(process, "MAX_CLASS_ROWS", 60)
    monkeypatch.setattr(process, "CLASS_INDUCING", 25)
    frame = pd.DataFrame(rows[:150], columns=NAMES)
    frame["y"] = np.where(np.sin(2 * rows[:150, 0]) * rows[:150, 1] > 0, "a", "b")
    found = fit_table(frame, "y")
    scores = {score.name: score.log_score for score in found.candidates}
    assert scores["process"] > scores["linear"] + 0.1
