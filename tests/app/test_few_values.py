"""Columns with one or two values go through the whole job, report and prediction included."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from credo.app.cli.command_line import command_line

N = 60


def flag():
    return np.arange(N) % 3 == 0


def columns():
    """Return input columns by what is odd about them."""
    x = np.linspace(0, 1, N)[np.random.default_rng(1).permutation(N)]
    return {
        "0 and 1": {"flag": flag().astype(int)},
        "0 and 1 beside a number": {"x": x, "flag": flag().astype(int)},
        "two numbers": {"x": x, "dose": np.where(flag(), -2.5, 1e6)},
        "two numbers with gaps": {"dose": np.where(np.arange(N) % 5 == 0, np.nan, flag())},
        "true and false": {"flag": flag()},
        "true and false in capitals": {"x": x, "flag": np.where(flag(), "TRUE", "FALSE")},
        "two categories": {"kind": np.where(flag(), "yes", "no")},
        "one category": {"x": x, "kind": "only"},
        "one category with gaps": {"kind": pd.Series(np.where(flag(), "only", None))},
        "one number with gaps": {"x": x, "dose": np.where(flag(), 3.0, np.nan)},
        "two dates": {"day": np.where(flag(), "2024-01-31", "2025-06-01")},
    }


def run(*arguments):
    ran = CliRunner().invoke(command_line, arguments)
    assert ran.exit_code == 0, ran.output
    return ran


@pytest.mark.parametrize("case", columns())
def test_few_values_are_fitted_reported_and_predicted(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0).normal(0, 0.1, N)
    pd.DataFrame(columns()[case]).assign(y=flag() * 2.0 + noise).to_csv("t.csv", index=False)
    run("fit", "t.csv", "--target", "y", "--out", "m.credo", "--report", "r.html")
    assert "<svg" in Path("r.html").read_text()
    run("predict", "m.credo", "t.csv", "--out", "p.csv")
    mean = pd.read_csv("p.csv")["mean"]
    assert len(mean) == N
    if case != "one category":
        # The flag moves the target by 2, and all columns but one say which rows have it.
        gap = mean[flag()].mean() - mean[~flag()].mean()
        assert gap == pytest.approx(2.0, abs=0.5)
