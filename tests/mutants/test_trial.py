"""A test that is about its symbol catches every mutant; one that is not lets it live."""

import time

import pytest
from mutants.trial import has_passed, trial_of, verdict

from mutants import trial as module

SIGMOID = "credo.numerics.sigmoid"
FOLDER = "tests/numerics/special/test_log_domain.py"


def test_a_test_of_values_catches_every_mutant():
    name = "test_sigmoid_slope_is_sharpness_times_variance_by_finite_differences"
    trial = trial_of(SIGMOID, f"{FOLDER}::{name}")
    assert trial.passes
    assert trial.outcomes == {"raises": "caught", "negated": "caught", "scaled": "caught"}
    assert trial.changed == ["sigmoid"]


def test_a_test_of_something_else_lets_the_mutant_live():
    trial = trial_of(SIGMOID, f"{FOLDER}::test_log_of_a_mean_is_at_least_the_mean_of_logs")
    assert trial.passes
    assert trial.outcomes == {"raises": "survived"}
    assert not has_passed(trial.plain())


def test_methods_of_a_class_and_of_its_heirs_are_changed():
    name = "test_kl_reproduces_hand_calculations"
    trial = trial_of(
        "credo.distributions.Distribution.kl", f"tests/distributions/test_univariate.py::{name}"
    )
    assert set(trial.outcomes.values()) == {"caught"}
    assert {"Distribution.kl", "Predictive.kl"} <= set(trial.changed)


@pytest.mark.parametrize(
    ("mutant", "passed", "n_changed", "expected"),
    [
        ("raises", True, 0, "survived"),
        ("scaled", True, 3, "survived"),
        ("scaled", True, 0, "no number to change"),
        ("negated", False, 2, "caught"),
    ],
)
def test_a_mutant_without_another_answer_does_not_count(mutant, passed, n_changed, expected):
    assert verdict(mutant, passed, n_changed) == expected


def test_a_child_that_never_ends_is_killed(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    monkeypatch.setattr(module, "_run", lambda *arguments: time.sleep(60.0))
    begin = time.monotonic()
    assert module._apart("credo.fit", "tests/none.py::test_none", "raises") == (False, {})
    assert time.monotonic() - begin < 20.0
