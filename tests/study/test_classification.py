import copy
import dataclasses
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rich.console import Console
from sklearn.base import is_classifier
from sklearn.metrics import log_loss, matthews_corrcoef

import credo
from credo.app.terminal.score_terminal import print_class_scores
from credo.data.error import TableError
from credo.data.table.loss_file import read_losses
from credo.data.table.preparation import TablePreparation
from credo.decisions import LossMatrix
from credo.distributions.estimate import Estimate
from credo.features import SplineBasis
from credo.models import BaselineClassifier, NaiveBayes, Stack
from credo.models.gaps.gap_average import average_over_gaps
from credo.models.gaps.row_completion import RowCompletion
from credo.study import classification
from credo.study.candidates.candidate import CLASS_MEANINGS
from credo.study.classification import (
    MAX_LINEAR_PARAMETERS,
    MAX_PARAMETERS,
    bayes_kinds,
    class_slate,
)
from credo.study.job import fit_table
from credo.study.remark.class_remark import class_headline, class_remarks
from credo.study.report.report import report_page
from credo.study.result.judgment import class_answers
from credo.study.result.result import FitSettings
from credo.study.result.table_model import TableClassification
from credo.study.result.wording import class_score_cells
from credo.validation.mixture_score import stacked_log_score

FAST = FitSettings(fast=True)


def texts(result, tone):
    return [found.text for found in class_remarks(result) if found.tone == tone]


def test_scores_of_the_test_rows_are_those_of_a_second_library(sorted_rows):
    held_out = sorted_rows.held_out
    called = held_out.predictive.mode()
    stack = sorted_rows.mixture
    assert stack.error_rate == pytest.approx(np.mean(called != held_out.y))
    assert stack.mcc == pytest.approx(matthews_corrcoef(held_out.y, called))
    loss = log_loss(held_out.y, held_out.predictive.probability)
    assert stack.log_score == pytest.approx(-loss)
    assert stack.error_low < stack.error_rate < stack.error_high


def test_test_rows_with_gaps_are_answered_as_each_classifier_and_the_stack_would():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(120, 2))
    y = np.array(["low", "mid", "top"])[np.digitize(x[:, 0] + rng.normal(size=120), [-1, 1])]
    x[::4, 0] = np.nan
    completion = RowCompletion.learn(x, y)
    complete = completion.training(x, y).one_of_each().X
    members = [("constant", BaselineClassifier()), ("bayes", NaiveBayes())]
    stack = Stack(members, cv=3).fit(complete, y)
    stack.weights_ = np.array([0.3, 0.7])
    answers = class_answers(stack, x[:40], completion)
    for answer, model in zip(answers, [*stack.estimators_, stack], strict=True):
        expected = average_over_gaps(model, completion, x[:40])
        assert_allclose(answer.probability, expected.probability, rtol=1e-12)
        assert_array_equal(answer.labels, expected.labels)


def test_the_stack_is_the_mixture_of_the_classifiers(sorted_rows):
    stack = sorted_rows.training
    X = np.zeros((1, stack.n_features_in_))
    X = pd.DataFrame(X, columns=stack.feature_names_in_)
    parts = [model.predict_dist(X).probability for model in stack.estimators_]
    weights = [score.weight for score in sorted_rows.candidates]
    assert sum(weights) == pytest.approx(1.0)
    assert_allclose(stack.predict_dist(X).probability, np.tensordot(weights, parts, axes=1))


def test_test_rows_hold_the_same_share_of_every_class(sorted_rows, clinic_classes):
    shares = clinic_classes["outcome"].value_counts(normalize=True)
    counts = pd.Series(sorted_rows.held_out.y).value_counts()
    assert ((counts - shares * counts.sum()).abs() <= 1).all()


def test_the_score_of_the_stack_in_folds_uses_weights_of_other_folds(sorted_rows):
    stack = sorted_rows.training
    honest = stacked_log_score(stack.log_scores_, stack.fold_).mean()
    best = np.log(np.exp(stack.log_scores_).T @ stack.weights_).mean()
    assert sorted_rows.mixture.cv_log_score == pytest.approx(honest)
    assert honest < best


def test_columns_that_matter_move_the_probabilities_most(sorted_rows):
    assert sorted_rows.profiles[0].name == "dose"
    assert sorted_rows.profiles[0].reach > 0.5
    shares = sorted_rows.profiles[0].predictive.probability
    assert_allclose(shares.sum(axis=1), 1.0)


def test_the_baseline_errs_as_often_as_the_common_class_is_not_there(sorted_rows):
    y = sorted_rows.held_out.y
    _, counts = np.unique(y, return_counts=True)
    assert sorted_rows.simplest.error_rate == pytest.approx(1 - counts.max() / len(y))
    assert sorted_rows.simplest.mcc == 0.0


def test_a_saved_model_predicts_as_it_did(sorted_rows, clinic_classes, tmp_path):
    credo.save(sorted_rows.model, tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo").model
    assert isinstance(loaded, TableClassification)
    before, after = (m.predict(clinic_classes) for m in (sorted_rows.model, loaded))
    pd.testing.assert_frame_equal(before.frame, after.frame)
    assert before.notes == after.notes
    assert loaded.notes == sorted_rows.model.notes
    assert loaded.scores == sorted_rows.scores


def test_a_loaded_model_has_the_verbs_of_a_classifier(sorted_rows, clinic_classes, tmp_path):
    credo.save(sorted_rows.model, tmp_path / "m.credo")
    model = credo.load(tmp_path / "m.credo").model
    told = model.predict(clinic_classes).frame
    probability = model.predict_proba(clinic_classes)
    prepared = model.preparation.prepare(clinic_classes)
    for rows in (clinic_classes, prepared):
        assert_array_equal(model.predict_dist(rows).probability, probability)
    assert model.classes_.tolist() == ["cured", "sick"]
    assert_allclose(probability[:, 0], told["probability of cured"])
    assert_allclose(probability[:, 1], told["probability of sick"])
    costs = LossMatrix([[0, 5], [1, 0]], ["cured", "sick"], ["wait", "treat"])
    decision = model.decide(clinic_classes, costs)
    is_treated = probability[:, 0] < 5 * probability[:, 1]
    assert decision.action.tolist() == np.where(is_treated, "treat", "wait").tolist()
    plain = model.decide(clinic_classes)
    assert plain.action.tolist() == told["class"].tolist()
    assert_allclose(
        model.decide(clinic_classes, reject=0.2).expected_loss,
        np.minimum(1 - probability.max(axis=1), 0.2),
    )


def test_new_levels_gaps_and_far_rows_are_predicted_with_notes(sorted_rows, clinic_classes):
    new = clinic_classes.head(3).copy()
    new.loc[0, "site"] = "moon"
    new.loc[1, "age"] = np.nan
    new.loc[2, "dose"] = 99.0
    told = sorted_rows.model.predict(new)
    shares = told.frame.filter(like="probability of")
    assert_allclose(shares.sum(axis=1), 1.0)
    assert told.frame["class"].tolist() == [
        shares.columns[k].removeprefix("probability of ")
        for k in shares.to_numpy().argmax(axis=1)
    ]
    said = " ".join(told.notes)
    assert "rare or new ('moon')" in said
    assert "2 missing values of 'age' were averaged over, given what else the rows have" in said
    assert "outside the range of the training rows" in said


def test_a_row_with_nothing_in_it_has_the_shares_of_the_classes(sorted_rows, clinic_classes):
    inputs = list(sorted_rows.model.preparation.inputs)
    empty = pd.DataFrame({name: [None] for name in inputs})
    rows = pd.concat([clinic_classes[inputs].head(2), empty])
    told = sorted_rows.model.predict_proba(rows)
    share = clinic_classes["outcome"].value_counts(normalize=True)[["cured", "sick"]]
    assert_allclose(told[2], share, atol=0.01)
    assert_allclose(told[:2], sorted_rows.model.predict_proba(rows.head(2)))


def test_few_rows_of_a_class_reduce_the_folds_with_a_note(clinic_classes):
    outcome = clinic_classes["outcome"].to_numpy().copy()
    outcome[outcome == "cured"] = "sick"
    outcome[:5] = "rare"
    result = fit_table(clinic_classes.assign(outcome=outcome), "outcome", FAST)
    (note,) = [note for note in result.slate_notes if "folds" in note]
    n_folds = len(np.unique(result.training.fold_))
    assert f"has {n_folds} folds instead of 10, because class 'rare'" in note
    assert any("Only 1 test row of class 'rare'" in text for text in texts(result, "caution"))


def test_noise_is_said_to_tell_nothing():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame["y"] = rng.choice(["no", "yes"], 80)
    (answer,) = texts(fit_table(frame, "y", FAST), "answer")
    assert answer.startswith("The columns say nothing certain about 'y'")


def test_what_the_folds_show_is_not_denied_by_few_test_rows(sorted_rows):
    def gained(folds, test=0.05):
        unsure = Estimate(np.array(test), np.array(0.1))
        return dataclasses.replace(
            sorted_rows,
            held_out=dataclasses.replace(sorted_rows.held_out, gain=unsure),
            columns_gain=Estimate(np.array(folds), np.array(0.1)),
            stack_gain=Estimate(np.array(0.5), np.array(0.1)),
        )

    assert class_headline(gained(0.05)).startswith("The columns say nothing certain")
    said = class_headline(gained(0.5))
    assert "cross-validation gains 0.50 ± 0.10 of log score per row" in said
    refuted = class_headline(gained(0.5, test=-3.0))
    assert refuted.startswith("Do not use these probabilities of 'outcome': on 24 test rows")
    assert "lower than that of class frequencies alone by 3 ± 0.10" in refuted
    (praise,) = [f for f in class_remarks(gained(0.05)) if "The stack beats" in f.text]
    assert praise.tone == "fact"


def test_numbers_that_stand_for_missing_are_a_caution_for_classes_too(sorted_rows):
    noted = dataclasses.replace(sorted_rows.data, sentinel_notes=("'age' is exactly -999",))
    found = dataclasses.replace(sorted_rows, data=noted)
    assert "'age' is exactly -999" in texts(found, "caution")


def test_rows_in_the_order_of_their_class_are_a_caution(sorted_rows):
    assert any(
        "The order of rows tells the class" in text for text in texts(sorted_rows, "caution")
    )


def test_decisions_cost_what_the_losses_say(clinic_classes, tmp_path, monkeypatch):
    costs, read = tmp_path / "costs.csv", []
    costs.write_text("action,sick,cured\ntreat,1,2\ndismiss,9,0\n")
    settings = FitSettings(loss=costs, reject=0.5, fast=True)
    monkeypatch.setattr(
        classification, "read_losses", lambda *given: read.append(1) or read_losses(*given)
    )
    result = fit_table(clinic_classes, "outcome", settings)
    assert len(read) == 1
    report, held_out = result.decisions, result.held_out
    p = dict(zip(held_out.predictive.labels, held_out.predictive.probability.T, strict=True))
    risk = np.stack([p["sick"] + 2 * p["cured"], 9 * p["sick"], np.full(len(held_out.y), 0.5)])
    taken = risk.argmin(axis=0)
    paid = np.where(held_out.y == "sick", [[1.0], [9.0], [0.5]], [[2.0], [0.0], [0.5]])
    realized = paid[taken, np.arange(len(taken))]
    assert float(report.realized.value) == pytest.approx(realized.mean())
    assert report.constant["loss"].tolist() == pytest.approx(paid.mean(axis=1).tolist())
    assert report.share.tolist() == pytest.approx(
        (np.bincount(taken, minlength=3) / len(taken)).tolist()
    )
    page = report_page(result)
    assert "What the decisions cost" in page
    assert "Which action when" in page


def test_losses_for_a_number_are_refused(table):
    with pytest.raises(TableError, match="`loss` and `reject` need a target of classes"):
        fit_table(table, "outcome", FitSettings(reject=0.2))


def test_numbers_are_classes_where_asked_for(clinic_classes):
    coded = clinic_classes.assign(
        outcome=np.where(clinic_classes["outcome"] == "sick", 7, 3) + np.arange(120) % 3 // 2
    )
    result = fit_table(coded, "outcome", FitSettings(task="classification", fast=True))
    assert_array_equal(result.training.classes_, ["3", "4", "7", "8"])
    assert len(result.confusion.labels) == 4
    page = report_page(result)
    assert "one class against all others" in page
    assert "Which action when" not in page


def test_the_report_says_all_and_loads_nothing_from_elsewhere(sorted_rows):
    page = report_page(sorted_rows)
    for title in (
        "Do probabilities keep their promise?",
        "How well rows are ranked (ROC)",
        "What was taken for what",
        "Weight of each classifier",
        "What moves the probabilities",
    ):
        assert title in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "Decisions</h2>" not in page
    assert "scores on test rows are of rows that no candidate had seen" in page
    for finding in class_remarks(sorted_rows):
        assert finding.text.split("'")[0][:40] in unescape(page)


def test_names_that_look_like_markup_are_escaped(clinic_classes):
    odd = clinic_classes.assign(outcome=clinic_classes["outcome"].replace("sick", "<b>$x$ & y"))
    page = report_page(fit_table(odd.rename(columns={"dose": "<i>dose"}), "outcome", FAST))
    assert "<b>" not in page.replace("<b>", "", page.count('<div class="tile"><b>'))
    assert "<i>dose" not in page


@pytest.fixture(scope="module")
def ten():
    """Ten classes of three rows each, of which two at most can be test rows."""
    rng = np.random.default_rng(0)
    label = np.repeat([f"c{k}" for k in range(10)], 3)
    place = np.repeat(np.arange(10.0), 3) + 0.3 * rng.normal(size=30)
    frame = pd.DataFrame({"a": place, "b": rng.normal(size=30), "y": label})
    return fit_table(frame, "y", FAST)


def test_the_common_class_is_the_one_that_the_baseline_says(ten):
    y = ten.held_out.y
    assert f"always saying {ten.common!r} is wrong for" in class_headline(ten)
    assert ten.simplest.error_rate == pytest.approx(np.mean(y != ten.common))
    counts = ten.training.estimators_[0].statistics_.counts
    assert counts[list(ten.training.classes_).index(ten.common)] == counts.max()


def test_classes_without_a_test_row_are_told_as_such(ten):
    absent = set(ten.training.classes_) - set(ten.held_out.y)
    said = " ".join(texts(ten, "caution"))
    assert f"No test row is of the {len(absent)} classes '{min(absent)}', " in said
    assert "Only 0" not in said
    assert "Only 1 test row of class" in said


def test_a_page_on_many_rare_classes_says_what_was_done(ten):
    page = report_page(ten)
    assert ten.n_folds == 2
    assert "seed 0, 2 folds;" in page
    assert "Probability of 7 of the 10 classes when" in page
    assert "classs" not in page
    assert "(p &lt; 1e-6)" in page


def test_the_best_classifier_is_one_that_was_judged_on_every_fold(sorted_rows):
    best = sorted_rows.winner
    stack = copy.copy(sorted_rows.training)
    place = stack.names_.index("baseline")
    stack.log_scores_ = stack.log_scores_.copy()
    stack.log_scores_[place, stack.fold_ > 1] = np.nan
    lucky = dataclasses.replace(sorted_rows.scores[place], cv_log_score=0.0)
    scores = (*sorted_rows.scores[:place], lucky, *sorted_rows.scores[place + 1 :])
    result = dataclasses.replace(sorted_rows, training=stack, scores=scores)
    assert result.winner == best
    said = "The best single classifier by cross-validation"
    assert f"{said} is {best.name};" in " ".join(texts(sorted_rows, "fact"))
    assert f"{said} among those judged on all 10 folds is {best.name};" in " ".join(
        texts(result, "fact")
    )


def test_the_caption_says_whose_weights_score_the_stack(sorted_rows, capsys):
    print_class_scores(Console(width=100), sorted_rows.scores, sorted_rows.winner.name)
    assert "its own is of weights found without the fold scored" in capsys.readouterr().out


def test_numbers_of_the_page_have_the_digits_of_its_table(sorted_rows):
    *others, stack = sorted_rows.scores
    sure = dataclasses.replace(stack, log_score=-0.0048, mcc=1.0, mcc_low=0.9, mcc_high=1.0)
    page = report_page(dataclasses.replace(sorted_rows, scores=(*others, sure)))
    assert "<b>-0.005</b>" in page
    assert "<b>1.00</b>" in page
    assert "-0.005 ± " in page
    assert "-0.00480" not in page


def test_settings_of_decisions_are_checked():
    with pytest.raises(ValueError, match="reject must be positive and finite; found -1"):
        dataclasses.replace(FitSettings(), reject=-1.0)


def test_a_score_of_minus_infinity_is_a_caution_and_not_a_number(sorted_rows):
    first, *others = sorted_rows.scores
    sure = dataclasses.replace(first, cv_log_score=-np.inf, cv_log_score_error=np.nan)
    result = dataclasses.replace(sorted_rows, scores=(sure, *others))
    (told,) = [text for text in texts(result, "caution") if "probability zero" in text]
    assert told.startswith(f"{first.name} gave")
    assert "a left-out training row" in told
    assert class_score_cells(sure, "stack")[2] == "-"
    assert "-inf" not in report_page(result)


RNG = np.random.default_rng(0)


def test_a_usual_table_meets_every_classifier_in_the_order_it_is_described():
    slate = class_slate(RNG.normal(size=(200, 3)), 2)
    assert [name for name, _ in slate.candidates] == list(CLASS_MEANINGS)
    assert all(is_classifier(model) for _, model in slate.candidates)
    assert slate.notes == ()


def test_no_logistic_candidate_but_the_linear_one_has_too_many_weights():
    for n, d, n_classes in ((30, 40, 2), (300, 12, 8), (900, 90, 3)):
        X = RNG.normal(size=(n, d))
        slate = class_slate(X, n_classes)
        for name, model in slate.candidates:
            if name in ("spline", "radial"):
                n_terms = model.basis.place(X).n_columns(d)
                assert n_terms <= n
                assert (n_terms + 1) * (n_classes - 1) <= MAX_PARAMETERS
        left_out = [re.split(" was | were ", note)[0] for note in slate.notes]
        assert {"linear", "baseline"} & set(left_out) == set()
        assert left_out


def test_columns_of_two_values_leave_no_spline_apart_from_the_linear_candidate():
    X = (RNG.random((60, 2)) < 0.5).astype(float)
    slate = class_slate(X, 2)
    assert "spline was left out: on these columns it is the same as linear." in slate.notes
    bases = [getattr(model, "basis", None) for _, model in slate.candidates]
    assert not any(isinstance(basis, SplineBasis) for basis in bases)


def test_naive_bayes_is_told_which_columns_are_levels_and_which_are_gaps():
    frame = pd.DataFrame({"c": ["x", "y", None] * 3, "v": [1.0, None, 2.5] * 3})
    y = np.array(["a", "b", "c"] * 3)
    kinds = bayes_kinds(TablePreparation.learn(frame, y=y))
    assert kinds == {
        "c = x": "counts",
        "c = y": "counts",
        "c is missing": "counts",
        "v is missing": "bernoulli",
    }
    models = dict(class_slate(RNG.normal(size=(50, 5)), 2, kinds).candidates)
    assert models["naive bayes"].kinds == kinds
    assert bayes_kinds(TablePreparation.learn(pd.DataFrame({"v": [1.0, 2.5, 4.0]}))) is None


def test_levels_of_categories_tell_naive_bayes_what_the_categories_themselves_do():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    frame = pd.DataFrame(
        {
            f"c{i}": np.array(list("abc"))[rng.integers(0, 3 - y * (rng.random(3000) < 0.6))]
            for i in range(6)
        }
    )
    preparation = TablePreparation.learn(frame)
    inputs = preparation.prepare(frame).frame
    coded = NaiveBayes(kinds=bayes_kinds(preparation)).fit(inputs, y).predict_proba(inputs)
    assert_allclose(coded, NaiveBayes().fit(frame, y).predict_proba(frame), atol=2e-3)
    doubled = NaiveBayes("bernoulli").fit(inputs, y).predict_proba(inputs)
    assert np.abs(doubled - coded).max() > 0.05


def test_fifty_classes_leave_out_every_curved_logistic_candidate_with_a_note():
    slate = class_slate(RNG.normal(size=(800, 4)), 50)
    names = [name for name, _ in slate.candidates]
    assert "linear" in names
    assert {"spline", "radial"}.isdisjoint(names)
    assert [re.split(" was | were ", note)[0] for note in slate.notes] == [
        "spline",
        "radial",
        "support vectors",
        "relevance vectors",
        "neural network",
        "process",
    ]


def test_vectors_are_left_out_with_a_note_beyond_their_rows():
    X = RNG.normal(size=(1001, 2))
    assert class_slate(X[:150], 3).notes == ()
    assert class_slate(X[:300], 2).notes == ()
    (note,) = class_slate(X[:301], 2).notes
    assert note == (
        "relevance vectors were left out: 301 training rows are more than the 300 on which it "
        "takes seconds."
    )
    notes = class_slate(X[:501], 3).notes
    assert notes[0].startswith("support vectors were left out: 501 training rows are more than")
    assert "the 500 on" in notes[0]
    assert "the 150 on" in notes[1]
    assert not any("vectors" in note for note in class_slate(X, 2, is_fast=True).notes)


def test_the_linear_candidate_is_left_out_where_its_weights_pass_the_limit():
    n_columns = MAX_LINEAR_PARAMETERS // 49
    below = class_slate(RNG.normal(size=(200, n_columns - 1)), 50)
    above = class_slate(RNG.normal(size=(200, n_columns)), 50)
    assert "linear" in dict(below.candidates)
    assert {"linear", "spline", "radial"}.isdisjoint(dict(above.candidates))
    assert above.notes[0] == (
        "linear was left out: 50 classes and 30 columns make 1,519 weights or more, too many "
        "to fit in reasonable time."
    )
    left_out = [re.split(" was | were ", note)[0] for note in above.notes]
    vectors = ["support vectors", "relevance vectors"]
    assert left_out == ["linear", "spline", "radial", *vectors, "neural network", "process"]


def test_a_wide_table_keeps_the_linear_candidate_and_says_that_both_gaussians_are_left_out():
    slate = class_slate(RNG.normal(size=(60, 2000)), 2)
    names = [name for name, _ in slate.candidates]
    assert "linear" in names
    left_out = [re.split(" was | were ", note)[0] for note in slate.notes]
    assert {"tied gaussian", "gaussian"} <= set(left_out)
    assert set(names) | set(left_out) == set(CLASS_MEANINGS)


def test_more_columns_than_rows_keep_the_linear_candidate_and_are_solved_in_the_dual():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(62, 2308)), np.arange(62) % 4
    slate = dict(class_slate(X, 4).candidates)
    assert "linear" in slate
    fitted = slate["linear"].fit(X, y)
    assert fitted.posterior_.mean.shape[1] <= len(X) + 1
    assert fitted.coef_.shape == (4, 2308)


def test_support_vectors_are_offered_where_they_are_quick():
    rows = np.random.default_rng(0).normal(size=(1200, 2))
    name = "support vectors"
    assert name in dict(class_slate(rows[:1000], 2).candidates)
    assert name not in dict(class_slate(rows, 2).candidates)
    assert name not in dict(class_slate(rows[:600], 3).candidates)
    assert name not in dict(class_slate(rows[:100], 2, is_fast=True).candidates)


def test_a_neural_network_is_offered_where_it_is_quick():
    rows = np.random.default_rng(0).normal(size=(1200, 2))
    name = "neural network"
    assert name in dict(class_slate(rows[:1000], 2).candidates)
    assert name not in dict(class_slate(rows, 2).candidates)
    assert name not in dict(class_slate(rows[:600], 3).candidates)
    assert name not in dict(class_slate(rows[:100], 2, is_fast=True).candidates)


def test_relevance_vectors_are_offered_where_they_are_quick():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    name = "relevance vectors"
    assert name in dict(class_slate(rows[:300], 2).candidates)
    assert name not in dict(class_slate(rows, 2).candidates)
    assert name not in dict(class_slate(rows[:200], 3).candidates)
    assert name not in dict(class_slate(np.repeat(rows[:10], 5, axis=0), 2).candidates)
    assert name not in dict(class_slate(rows[:300], 2, is_fast=True).candidates)
