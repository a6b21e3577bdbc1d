"""The commands on a target of classes: results, and one sentence for every mistake."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import credo
from credo.app.cli.command_line import command_line

N = 60
COSTS = "action,no,yes\nwait,0,5\ntreat,1,0\nask,0.4,0.4\n"


def run(*arguments):
    return CliRunner().invoke(command_line, [str(argument) for argument in arguments])


def refusal(*arguments):
    """Return the one sentence of a command that must fail."""
    ran = run(*arguments)
    assert ran.exit_code == 2, ran.output
    assert ran.stdout == ""
    assert len(ran.stderr.strip().splitlines()) == 1
    assert ran.stderr.startswith("credo: ")
    return ran.stderr


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    kind = rng.choice(["red", "blue"], N)
    y = np.where(x + 0.4 * rng.normal(size=N) > 0, "yes", "no")
    return pd.DataFrame({"id": np.arange(N) + 700, "x": x, "kind": kind, "y": y})


@pytest.fixture(scope="module")
def model(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    frame.to_csv(folder / "data.csv", index=False)
    ran = run("fit", folder / "data.csv", "--target", "y", "--out", folder / "m.credo")
    assert ran.exit_code == 0, ran.output
    return folder / "m.credo"


@pytest.fixture
def work(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("data.csv", index=False)
    Path("costs.csv").write_text(COSTS)
    return tmp_path


def test_predictions_are_classes_with_probabilities_that_can_be_joined(model, work, frame):
    ran = run("predict", model, "data.csv", "--out", "p.csv")
    assert ran.exit_code == 0, ran.output
    told = pd.read_csv("p.csv")
    columns = ["id", "class", "probability of no", "probability of yes"]
    assert told.columns.tolist() == columns
    assert told["id"].tolist() == frame["id"].tolist()
    assert_allclose(told["probability of no"] + told["probability of yes"], 1.0, atol=1e-7)
    is_yes = told["probability of yes"] > told["probability of no"]
    assert told["class"].tolist() == np.where(is_yes, "yes", "no").tolist()
    assert (told["class"] == frame["y"]).mean() > 0.8


def test_decisions_add_the_action_of_least_expected_loss(model, work):
    ran = run("predict", model, "data.csv", "--decide", "costs.csv", "--out", "p.csv")
    assert ran.exit_code == 0, ran.output
    told = pd.read_csv("p.csv")
    no, yes = told["probability of no"], told["probability of yes"]
    risk = pd.DataFrame({"wait": 5 * yes, "treat": no, "ask": 0.4})
    assert told["action"].tolist() == risk.idxmin(axis=1).tolist()
    assert_allclose(told["expected_loss"], risk.min(axis=1), atol=1e-6)
    assert_allclose(told["runner_up_loss"], np.sort(risk, axis=1)[:, 1], atol=1e-6)


def test_inspect_tells_classes_scores_and_classifiers(model):
    ran = run("inspect", model)
    assert ran.exit_code == 0, ran.output
    for part in ("a Study", "('no', 'yes')", "stack", "LogisticRegression()"):
        assert part in ran.stdout


def test_the_decisions_of_a_fit_are_told(work):
    ran = run("fit", "data.csv", "--target", "y", "--loss", "costs.csv", "--report", "r.html")
    assert ran.exit_code == 0, ran.output
    assert "loss per row" in ran.stdout
    assert "always treat" in ran.stdout
    assert "What the decisions cost" in Path("r.html").read_text()


def test_true_and_false_keep_their_names(work, frame):
    frame.assign(y=frame["y"] == "yes").to_csv("data.csv", index=False)
    ran = run("fit", "data.csv", "--target", "y", "--out", "m.credo")
    assert ran.exit_code == 0, ran.output
    study = credo.load("m.credo")
    assert study.classes_.tolist() == [False, True]
    assert study.model.class_names == ["False", "True"]


@pytest.mark.parametrize(
    ("losses", "part"),
    [
        ("action,no\nwait,0\ntreat,1\n", "found none for 'yes'"),
        ("action,no,yes,maybe\na,0,1,2\nb,1,0,2\n", "losses for the unknown 'maybe'"),
        ("action,no,yes\nwait,0,10\n", "found 'wait' alone"),
        ("action,no,yes\na,0,x\nb,1,y\n", "found 'x' for class 'yes'"),
        ("", "costs.csv"),
    ],
)
def test_bad_losses_are_refused_before_any_work(model, work, losses, part):
    Path("costs.csv").write_text(losses)
    outputs = ("--out", "m.credo", "--report", "r.html")
    assert part in refusal("fit", "data.csv", "--target", "y", "--loss", "costs.csv", *outputs)
    arguments = ("predict", model, "data.csv", "--decide", "costs.csv", "--out", "p.csv")
    assert part in refusal(*arguments)
    assert sorted(os.listdir(work)) == ["costs.csv", "data.csv"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--target", "x", "--reject", "0.2"], "--loss and --reject need a target of classes"),
        (["--target", "x", "--loss", "costs.csv"], "pass --task classification"),
        (["--target", "y", "--task", "regression"], "must be a number column; found"),
        (["--target", "x", "--task", "classification"], "at most 50 classes; found 60"),
        (["--target", "y", "--reject", "-1"], "it must be positive and finite; found -1"),
        (["--target", "y", "--loss", "nowhere.csv"], "nowhere.csv must be a file"),
        (["--target", "y", "--test-share", "0.97"], "pass a smaller --test-share"),
    ],
)
def test_a_bad_wish_is_refused_in_one_sentence(work, arguments, part):
    assert part in refusal("fit", "data.csv", *arguments, "--out", "m.credo")
    assert sorted(os.listdir(work)) == ["costs.csv", "data.csv"]


def test_an_action_named_reject_and_the_option_exclude_each_other(work):
    Path("costs.csv").write_text(COSTS.replace("ask", "reject"))
    wish = ("--loss", "costs.csv", "--reject", "0.3")
    assert "--reject must add an action of its own" in refusal(
        "fit", "data.csv", "--target", "y", *wish
    )


def test_what_concerns_numbers_is_refused_of_a_model_of_classes(model, work):
    sentence = refusal("predict", model, "data.csv", "--coverage", "0.5")
    assert "--coverage needs a model of numbers" in sentence


def test_losses_are_refused_of_a_model_of_numbers(work):
    assert run("fit", "data.csv", "--target", "x", "--out", "m.credo").exit_code == 0
    sentence = refusal("predict", "m.credo", "data.csv", "--decide", "costs.csv")
    assert (
        "--decide needs a model of classes; found that m.credo predicts the number" in sentence
    )


def test_new_categories_are_predicted_with_a_note(model, work, frame):
    frame.head(4).assign(kind="green").to_csv("new.csv", index=False)
    ran = run("predict", model, "new.csv")
    assert ran.exit_code == 0, ran.output
    assert len(ran.stdout.splitlines()) == 5
    assert "rare or new ('green')" in ran.stderr


def test_copies_of_few_rows_are_fitted_too(work):
    few = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 10, "y": ["a", "a", "b", "b"] * 10})
    few.to_csv("data.csv", index=False)
    ran = run("fit", "data.csv", "--target", "y", "--out", "m.credo", "--report", "r.html")
    assert ran.exit_code == 0, ran.output
    assert "few distinct rows" in ran.stdout or "wrong for 0 %" in ran.stdout
