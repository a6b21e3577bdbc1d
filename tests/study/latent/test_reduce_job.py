import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.data.error import TableError
from credo.study.latent.reduce_job import reduce_table


def plane(n=200, noise=0.3, seed=0):
    """Return rows of seven columns that follow two hidden numbers."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2)) * [2.0, 1.0]
    loading = np.array([[1.0, 1.0, -1.0, 1.0, 1.0, 0.0, 0.0], [0.0] * 5 + [1.0, 1.0]])
    rows = hidden @ loading + noise * rng.normal(size=(n, 7))
    return hidden, pd.DataFrame(rows, columns=list("abcdefg"))


def test_two_hidden_numbers_are_found_with_their_columns():
    hidden, frame = plane()
    found = reduce_table(frame)
    assert len(found.axes) == 2
    named = [
        {n for n, pull in zip(a.names, a.pull, strict=True) if abs(pull) > 0.5}
        for a in found.axes
    ]
    assert sorted(map(sorted, named)) == [["a", "b", "c", "d", "e"], ["f", "g"]]
    for values in hidden.T:
        assert max(abs(np.corrcoef(values, own)[0, 1]) for own in found.place.T) > 0.97


def test_words_say_which_columns_rise_and_fall_along_an_axis():
    _, frame = plane()
    [sentence] = [a.sentence for a in reduce_table(frame[["a", "b", "c"]]).axes]
    assert ", less c (-0." in sentence or sentence.startswith("more c (0.")
    assert sentence.count("(-0.") == (1 if "less c" in sentence else 2)


def test_shares_and_errors_are_those_of_the_plane():
    _, frame = plane(noise=0.05)
    found = reduce_table(frame, n_axes=2)
    assert sum(axis.share for axis in found.axes) > 0.98
    assert found.error.mean() < 0.1
    told, usual = found.left_out_error
    assert told < 0.15
    assert 0.8 < usual < 1.2


def test_columns_that_do_not_follow_each_other_are_said_to_be_lost():
    rng = np.random.default_rng(3)
    found = reduce_table(pd.DataFrame(rng.normal(size=(150, 6)), columns=list("abcdef")))
    said = " ".join(remark.text for remark in found.remarks)
    assert "of the spread is lost" in said
    assert "favors 0" in said


def test_gaps_and_words_need_no_preparation():
    hidden, frame = plane()
    rng = np.random.default_rng(1)
    frame = frame.mask(rng.uniform(size=frame.shape) < 0.1)
    frame["side"] = np.where(hidden[:, 0] > 0, "left", "right")
    frame["year"] = rng.choice([2007, 2008], len(frame))
    found = reduce_table(frame, n_axes=2)
    assert np.isfinite(found.place).all()
    assert max(abs(np.corrcoef(hidden[:, 0], own)[0, 1]) for own in found.place.T) > 0.95
    assert any("side '" in name for name in found.names)
    # A row with gaps is known less surely.
    has_gap = frame.isna().any(axis=1).to_numpy()
    assert found.doubt[has_gap].mean() > found.doubt[~has_gap].mean()


def test_units_do_not_matter():
    _, frame = plane()
    first = reduce_table(frame, n_axes=2)
    second = reduce_table(frame * [1e3, 1.0, 1.0, 1e-4, 1.0, 1.0, 1.0] + 5.0, n_axes=2)
    assert_allclose(np.abs(first.place), np.abs(second.place), atol=1e-6)


@pytest.mark.parametrize(
    ("frame", "n", "message"),
    [
        (pd.DataFrame({"x": np.arange(9.0) ** 1.5}), None, "at least 2 columns"),
        (pd.DataFrame(plane(20)[1]), 9, "`axes` must be at most 6"),
    ],
)
def test_what_has_no_axes_is_said_in_one_sentence(frame, n, message):
    with pytest.raises(TableError, match=message):
        reduce_table(frame, n)
