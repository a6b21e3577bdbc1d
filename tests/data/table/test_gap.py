import numpy as np
import pytest

from credo.data.table.gap import sentinels

RNG = np.random.default_rng(0)
AGES = RNG.integers(18, 80, 50).astype(float)
PRICES = RNG.uniform(500, 4000, 50)


def marked(values, mark, n=3):
    return np.concatenate([values, np.full(n, float(mark)), [np.nan]])


@pytest.mark.parametrize(
    ("values", "mark"),
    [
        (PRICES, -999),
        (AGES, -9999),
        (AGES, 999),
        (AGES, -99),
        (PRICES, 99999),
        (AGES, -1),
        (AGES, 0),
        (PRICES, 0),
        (RNG.normal(size=50), -999),
    ],
)
def test_a_repeated_mark_far_from_all_other_values_is_noticed(values, mark):
    (found,) = sentinels(marked(values, mark))
    assert (found.value, found.n_rows) == (mark, 3)
    assert (found.lowest, found.highest) == (values.min(), values.max())


def test_marks_on_both_sides_are_noticed():
    both = marked(marked(AGES, -999), 9999)
    assert [found.value for found in sentinels(both)] == [-999, 9999]


@pytest.mark.parametrize(
    "values",
    [
        AGES,
        marked(AGES, -999, n=1),
        marked(RNG.integers(0, 5, 50), -1),
        marked(RNG.normal(0, 2, 50), -1),
        marked(RNG.uniform(0, 110, 50), 99),
        marked(RNG.uniform(900, 1100, 50), 999),
        marked(AGES, -17),
        marked(AGES, 0, n=40),
        marked(AGES, 0, n=1),
        marked(RNG.integers(1, 5, 50), 0),
        marked(RNG.integers(1, 5, 50) * 10, 0),
        marked(RNG.uniform(1, 90, 50), 0),
        marked(-AGES, 0),
        marked(AGES, 200),
        np.repeat([-999.0, 3.0], 10),
        np.array([]),
        np.full(4, np.nan),
    ],
    ids=lambda values: str(values[-3:]),
)
def test_ordinary_values_are_not_taken_for_marks(values):
    assert sentinels(np.asarray(values, dtype=float)) == []


def test_the_sentence_says_what_to_do():
    (found,) = sentinels(np.array([120.0, -999.0, 80.0, 95.0, -999.0]))
    assert found.sentence("income") == (
        "'income' is exactly -999 in 2 rows and 80 to 120 in all others: if that stands for "
        "missing, leave those cells empty and fit again."
    )
