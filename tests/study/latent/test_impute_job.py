import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.data.error import TableError
from credo.study.latent.impute_job import impute_table


def correlated(n=300, seed=0):
    """Return complete rows, and the same with gaps at random in two columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    whole = pd.DataFrame({"x": x, "y": 3 * x + rng.normal(0, 0.6, n), "z": rng.normal(size=n)})
    holes = whole.copy()
    holes["y"] = whole["y"].mask(rng.uniform(size=n) < 0.3)
    holes["z"] = whole["z"].mask(rng.uniform(size=n) < 0.2)
    return whole, holes


@pytest.fixture(scope="module")
def found():
    return impute_table(correlated()[1], n_draws=3)


def test_intervals_hold_what_was_taken_away_as_often_as_they_say(found):
    whole, holes = correlated()
    frame = found.frame
    gap = holes["y"].isna()
    inside = frame["low y"][gap].le(whole["y"][gap]) & frame["high y"][gap].ge(whole["y"][gap])
    assert 0.8 < inside.mean() < 0.98
    error = (frame["y"] - whole["y"])[gap]
    assert np.sqrt((error**2).mean()) < 0.8


def test_intervals_are_as_wide_as_the_noise_that_is_left(found):
    frame, (_, holes) = found.frame, correlated()
    width = (frame["high y"] - frame["low y"])[holes["y"].isna()]
    assert_allclose(width.mean(), 2 * 1.645 * 0.6, rtol=0.15)


def test_the_check_by_hidden_cells_says_how_often_they_hold(found):
    checks = {check.column.name: check for check in found.checks}
    assert set(checks) == {"y", "z"}
    assert 0.75 < sum(c.hits for c in found.checks) / sum(c.n for c in found.checks) < 1
    assert checks["y"].error < 0.35 * checks["y"].usual_error
    said = " ".join(remark.text for remark in found.remarks)
    assert "lie in their interval of 90 %" in said
    assert "Other columns tell little of 'z'" in said


def test_what_was_there_stays_and_draws_differ(found):
    _, holes = correlated()
    known = holes["y"].notna()
    assert_allclose(found.frame["y"][known], holes["y"][known])
    draws = found.draws
    assert draws["draw"].value_counts().to_dict() == {1: 300, 2: 300, 3: 300}
    first, second = (draws[draws["draw"] == k]["y"].to_numpy() for k in (1, 2))
    assert (first[~known] != second[~known]).all()
    assert_allclose(first[known], second[known])


def test_words_whole_numbers_and_dates_are_drawn_as_they_stand():
    rng = np.random.default_rng(1)
    n = 90
    group = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "kind": np.array(["cat", "dog"])[group],
            "legs": np.array([10, 50])[group] + rng.integers(0, 9, n),
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(90 * group + 5.0, unit="D")
            + pd.to_timedelta(rng.integers(0, 20, n), unit="D"),
        }
    ).astype({"day": str})
    true = frame["kind"][4]
    frame.loc[4, "kind"] = None
    frame["legs"] = frame["legs"].astype(object)
    frame.loc[7, "legs"] = None
    frame.loc[8, "day"] = None
    found = impute_table(frame, n_draws=2).frame
    assert found["kind"][4] == true
    assert found["probability of kind"][4] > 0.8
    assert float(found["legs"][7]).is_integer()
    assert str(found["day"][8]).startswith("2024-")
    assert str(found["low day"][8]) <= str(found["high day"][8])


def test_a_table_without_gaps_is_refused():
    with pytest.raises(TableError, match="must have a gap"):
        impute_table(pd.DataFrame({"x": np.arange(20.0)}))
