"""A small table of a clinic and what a study makes of it, shared by tests as fixtures."""

import numpy as np
import pandas as pd
import pytest

from credo.study.job import fit_table
from credo.study.result.result import FitSettings


def clinic(n=120, seed=0):
    """A table with numbers, gaps, a category, dates, an id and a target."""
    rng = np.random.default_rng(seed)
    dose, age = rng.uniform(0, 10, n), rng.normal(50, 10, n)
    site = rng.choice(["north", "south", "west"], n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    outcome = 2 * dose + 3 * np.sin(dose) + (site == "west") * 4 + rng.normal(0, 0.5, n)
    frame = pd.DataFrame(
        {
            "patient_id": np.arange(1000, 1000 + n),
            "dose": dose,
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "site": site,
            "day": day.strftime("%Y-%m-%d"),
            "outcome": outcome,
        }
    )
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="session")
def table():
    return clinic()


@pytest.fixture(scope="session")
def result(table):
    return fit_table(table, "outcome", FitSettings(fast=True))


@pytest.fixture
def csv_file(tmp_path, table):
    path = tmp_path / "clinic.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def clinic_classes(table):
    """The same table with two classes instead of numbers, its rows sorted by them."""
    is_high = table["outcome"] + np.random.default_rng(1).normal(0, 3, len(table)) > 10
    classes = table.assign(outcome=np.where(is_high, "cured", "sick"))
    return classes.sort_values("outcome", kind="stable").reset_index(drop=True)


@pytest.fixture(scope="session")
def sorted_rows(clinic_classes):
    return fit_table(clinic_classes, "outcome", FitSettings(fast=True))
