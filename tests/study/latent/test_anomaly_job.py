import numpy as np
import pandas as pd
import pytest

from credo.data.error import TableError
from credo.study.latent.anomaly_job import anomaly_table


def usual(n, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=n)
    x = rng.normal(7.0 * group, 1.0)
    return pd.DataFrame(
        {
            "id": np.arange(5000, 5000 + n),
            "x": x,
            "y": 2 * x + rng.normal(0, 0.5, n),
            "kind": np.array(["a", "b"])[group],
        }
    )


@pytest.fixture(scope="module")
def found():
    frame = usual(300)
    frame.loc[10, "y"] += 8.0
    frame.loc[20, "kind"] = "b" if frame["kind"][20] == "a" else "a"
    frame.loc[30, "x"] = 4e4
    frame.loc[40, "y"] = None
    return anomaly_table(frame, rate=0.02)


def test_planted_odd_rows_are_clearly_odd(found):
    clear = {row.place for row in found.rows if row.is_clear}
    assert {10, 20, 30} <= clear
    assert len(clear) <= 5


def test_the_odd_cell_is_named_with_what_was_expected(found):
    rows = {row.place: row for row in found.rows}
    assert {cell.column.name for cell in rows[10].cells} & {"y", "x"}
    assert rows[20].cells[0].column.name == "kind"
    assert "expected" in rows[20].sentence
    assert rows[30].cells[0].column.name == "x"
    assert rows[30].sentence.startswith("id 5030: x 40,000 (expected")


def test_alarms_come_at_the_rate_that_was_set(found):
    by_rate = [row for row in found.rows if not row.is_clear]
    assert len(by_rate) <= 0.02 * 300 + 1
    assert found.n_checked >= 290
    assert found.checked / found.n_checked < 0.06
    said = " ".join(remark.text for remark in found.remarks)
    assert "at a" not in said
    assert "2 %" in said


def test_usual_rows_are_seldom_clearly_odd():
    n_clear = sum(
        row.is_clear for seed in (1, 2, 3) for row in anomaly_table(usual(150, seed)).rows
    )
    assert n_clear <= 2


def test_a_rate_that_rows_are_too_few_for_lists_what_is_clearly_odd_alone():
    found = anomaly_table(usual(60, 4), rate=0.001)
    assert all(row.is_clear for row in found.rows)
    assert any("too few for a rate of 0.1 %" in remark.text for remark in found.remarks)


def test_scores_of_all_rows_keep_their_numbers(found):
    frame = found.frame
    assert frame["id"].tolist() == list(range(5000, 5300))
    assert frame["is odd"].sum() == len(found.rows)
    assert frame["why"][30].startswith("x 40,000")
    assert frame["why"].notna().sum() == len(found.rows)


def test_a_share_that_is_none_is_refused():
    with pytest.raises(TableError, match="`rate` must be above 0 and below 1"):
        anomaly_table(usual(20), rate=1.5)
