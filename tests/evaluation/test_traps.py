import numpy as np
import pandas as pd
import pytest
from scipy import stats

from credo.evaluation.order_test import runs_p
from credo.evaluation.traps import check_traps, imbalance, row_order, search_edge, seen_rows

RNG = np.random.default_rng(0)


def test_copies_of_training_rows_are_counted_with_their_outcomes():
    train, y = RNG.normal(size=(50, 3)), RNG.integers(0, 2, 50)
    test = np.r_[train[:6], RNG.normal(size=(14, 3))]
    told = np.r_[y[:4], 1 - y[4:6], np.zeros(14, dtype=int)]
    found = seen_rows(train, test, y, told)
    assert found.is_found
    assert found.value == 6 / 20
    assert "6 of 20 test rows (30 %) are copies" in found.sentence
    assert "2 of them with another outcome" in found.sentence


@pytest.mark.parametrize(
    ("n_seen", "n_other", "said"),
    [
        (1, 0, "is a copy of a training row, with the same outcome: "),
        (1, 1, "is a copy of a training row, with another outcome: "),
        (3, 0, "are copies of a training row, none of them with another outcome: "),
    ],
)
def test_one_copy_and_many_are_told_in_words(n_seen, n_other, said):
    train, test = RNG.normal(size=(50, 3)), RNG.normal(size=(20, 3))
    test[:n_seen] = train[:n_seen]
    sentence = seen_rows(train, test, np.zeros(50), np.arange(20) < n_other).sentence
    assert said in sentence
    assert sentence.endswith("leave it out." if n_seen == 1 else "leave them out.")


def test_rows_of_mixed_columns_with_gaps_are_compared_entry_by_entry():
    train = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": ["x", "y", "z", None]})
    test = pd.DataFrame({"a": [np.nan, 3.0, 4.0], "b": ["y", "x", None]})
    assert seen_rows(train, test).value == pytest.approx(2 / 3)
    assert not seen_rows(train, test.iloc[[1]]).is_found


def test_few_distinct_rows_are_told_to_repeat_by_nature():
    train, test = RNG.integers(0, 2, (80, 2)), RNG.integers(0, 2, (20, 2))
    found = seen_rows(train, test)
    assert not found.is_found
    assert found.value == 1.0
    assert "copies are to be expected" in found.sentence


def test_sorted_and_alternating_rows_are_a_trap():
    for y in (np.sort(RNG.integers(0, 3, 90)), np.arange(90) % 2, np.sort(RNG.normal(size=90))):
        found = row_order(y)
        assert found.is_found
        assert "shuffle before splitting" in found.sentence
    assert "outcomes drift along the rows" in row_order(np.sort(RNG.normal(size=90))).sentence
    assert "0 % of rows are like the one before" in row_order(np.arange(90) % 2).sentence


@pytest.mark.parametrize("draw", [lambda r: r.integers(0, 2, 60), lambda r: r.normal(size=60)])
def test_shuffled_rows_raise_the_alarm_about_as_rarely_as_stated(draw):
    rng = np.random.default_rng(5)
    alarms = sum(row_order(draw(rng)).is_found for _ in range(3000))
    # One percent of 3000, and two and a half standard errors.
    assert alarms <= 30 + 14


def test_of_two_tests_the_smaller_p_value_is_doubled():
    y = np.arange(30.0) + 15 * np.random.default_rng(1).normal(size=30)
    drift = stats.spearmanr(y, np.arange(30)).pvalue
    assert drift < 0.1
    assert row_order(y).value == pytest.approx(2 * drift)
    codes = np.repeat([0, 1, 0, 1], [9, 6, 6, 9])
    place = np.arange(30)
    drift = stats.kruskal(place[codes == 0], place[codes == 1]).pvalue
    assert row_order(codes).value == pytest.approx(2 * min(drift, runs_p(codes)))


def test_a_common_class_makes_accuracy_useless():
    y = np.repeat(["no", "yes"], [180, 20])
    found = imbalance(y)
    assert found.is_found
    assert found.value == 0.9
    assert not imbalance(np.repeat(["no", "yes"], [100, 100])).is_found
    lazy = imbalance(y, np.repeat("no", 200))
    assert "the model 0.90 (95 % interval" in lazy.sentence
    assert "no better for sure" in lazy.sentence


def test_a_model_clearly_above_the_common_class_is_no_trap():
    y = np.repeat([0, 1], [60, 40])
    good = y.copy()
    good[:5] = 1
    assert not imbalance(y, good).is_found
    assert imbalance(y, np.zeros(100)).is_found


def test_best_settings_at_the_edge_are_told():
    assert search_edge({"k": 1}, {"k": [1, 5, 9]}).is_found
    assert not search_edge({"k": 5}, {"k": [1, 5, 9]}).is_found


def test_all_checks_run_at_once_with_findings_first():
    x, y = RNG.normal(size=(60, 2)), np.repeat([0, 1], 30)
    traps = check_traps(x, y, x[:10], y[:10], y[:10], {"k": 9}, {"k": [1, 5, 9]})
    assert [trap.is_found for trap in traps] == sorted(
        [trap.is_found for trap in traps], reverse=True
    )
    names = {trap.name for trap in traps if trap.is_found}
    assert {"row order", "seen rows", "search edge"} <= names
    assert all(str(trap).endswith(".") for trap in traps)
    assert len(check_traps(x, RNG.normal(size=60))) == 1


def test_gaps_in_labels_are_passed_over_and_tables_must_match():
    y = np.array(["a", None, "b"] * 20, dtype=object)
    assert row_order(y).is_found
    assert imbalance(y).value == 0.5
    assert "too few rows" in row_order([0, 1]).sentence
    with pytest.raises(ValueError, match="same columns"):
        seen_rows(np.ones((3, 2)), np.ones((3, 3)))
