import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions.dirichlet import Dirichlet
from credo.graphs import ConditionalTable, Factor, RoundedTableWarning, UnknownState, Variable

RAIN = Variable("rain", ("none", "some", "heavy"))
SPRINKLER = Variable("sprinkler", (False, True))
WET = Variable("wet", ("no", "yes"))
TABLE = np.array([[[1.0, 0.0], [0.1, 0.9]], [[0.3, 0.7], [0.05, 0.95]], [[0.1, 0.9], [0, 1]]])
PARENTS = [RAIN, SPRINKLER]


def settings():
    return [(r, s) for r in RAIN.labels for s in SPRINKLER.labels]


def as_dict():
    rows = TABLE.reshape(-1, 2)
    return {
        key: {"yes": row[1], "no": row[0]} for key, row in zip(settings(), rows, strict=True)
    }


def as_wide_frame():
    rows = [
        {"sprinkler": s, "rain": r, "yes": as_dict()[r, s]["yes"], "no": as_dict()[r, s]["no"]}
        for r, s in reversed(settings())
    ]
    return pd.DataFrame(rows)


def as_long_frame():
    rows = [
        {"p": as_dict()[r, s][w], "wet": w, "rain": r, "sprinkler": s}
        for w in ("yes", "no")
        for r, s in settings()
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "frame",
    [
        as_wide_frame(),
        as_long_frame(),
        pl.DataFrame(as_wide_frame().to_dict("list")),
        as_wide_frame().set_index(["sprinkler", "rain"]),
        as_long_frame().set_index(["wet", "sprinkler", "rain"])["p"],
        as_long_frame().set_index(["rain", "sprinkler", "wet"])["p"].rename_axis([None] * 3),
    ],
    ids=["wide", "long", "polars", "indexed", "series in any order", "unnamed series"],
)
def test_every_frame_says_the_same_as_the_array(frame):
    assert_allclose(ConditionalTable.from_frame(WET, PARENTS, frame).probability, TABLE)


def test_dictionary_says_the_same_as_the_array():
    table = ConditionalTable.from_dict(WET, PARENTS, as_dict())
    assert_allclose(table.probability, TABLE)
    assert table.table().names == ("rain", "sprinkler", "wet")


def test_text_headers_of_truth_values_are_their_states():
    frame = pl.DataFrame(
        {"rain": list(RAIN.labels), "True": [0.1, 0.2, 0.3], "False": [0.9, 0.8, 0.7]}
    )
    table = ConditionalTable.from_frame(SPRINKLER, [RAIN], frame)
    assert_allclose(table.probability[:, 1], [0.1, 0.2, 0.3])


def test_states_left_out_of_a_row_are_impossible():
    table = ConditionalTable.from_dict(RAIN, [], {"some": 0.4, "heavy": 0.6})
    assert_allclose(table.probability, [0.0, 0.4, 0.6])


def test_integer_states_of_a_parent_are_labels_not_positions():
    level = Variable("level", (2, 0, 1))
    rows = {0: [0.5, 0.5], 1: [0.25, 0.75], 2: [0.125, 0.875]}
    table = ConditionalTable.from_dict(WET, [level], rows)
    assert_allclose(table.probability[:, 0], [0.125, 0.5, 0.25])


def test_log_prob_reads_one_cell_per_row_and_zero_is_minus_infinity():
    table = ConditionalTable(WET, PARENTS, TABLE)
    rng = np.random.default_rng(0)
    rain, sprinkler, wet = (
        rng.integers(3, size=50),
        rng.integers(2, size=50),
        rng.integers(2, size=50),
    )
    found = table.log_prob({"rain": rain, "sprinkler": sprinkler, "wet": wet})
    with np.errstate(divide="ignore"):
        wanted = [np.log(TABLE[r, s, w]) for r, s, w in zip(rain, sprinkler, wet, strict=True)]
    assert_allclose(found, wanted)
    assert np.isneginf(table.log_prob({"rain": [0], "sprinkler": [0], "wet": [1]})[0])


def test_draws_have_the_frequencies_of_the_table_in_every_setting():
    table = ConditionalTable(WET, PARENTS, TABLE)
    rng = np.random.default_rng(1)
    n = 60_000
    rain, sprinkler = rng.integers(3, size=n), rng.integers(2, size=n)
    drawn = table.sample({"rain": rain, "sprinkler": sprinkler}, n, rng)
    for r, s in np.ndindex(3, 2):
        rows = (rain == r) & (sprinkler == s)
        p = TABLE[r, s, 1]
        error = np.sqrt(p * (1 - p) / rows.sum())
        assert abs(drawn[rows].mean() - p) <= 4 * error


def test_draws_of_a_root_have_the_frequencies_of_the_table():
    table = ConditionalTable(RAIN, [], [0.5, 0.3, 0.2])
    drawn = table.sample({}, 40_000, np.random.default_rng(2))
    assert_allclose(np.bincount(drawn) / 40_000, [0.5, 0.3, 0.2], atol=0.01)


def test_parameters_are_one_less_than_states_for_every_setting():
    assert ConditionalTable(WET, PARENTS, TABLE).n_parameters == 6
    assert ConditionalTable(RAIN, [], [0.5, 0.3, 0.2]).n_parameters == 2


def test_the_factor_of_a_table_is_the_table():
    table = ConditionalTable(WET, PARENTS, TABLE)
    (factor,) = table.factors()
    assert isinstance(factor, Factor)
    assert_allclose(factor.table(), TABLE)


def test_counts_add_to_the_prior_and_the_table_is_their_mean():
    counts = np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 2.5]])
    table = ConditionalTable.from_counts(WET, [RAIN], counts, prior_counts=0.5)
    assert_allclose(table.counts, counts + 0.5)
    assert_allclose(table.probability, [[0.7, 0.3], [0.5, 0.5], [1 / 7, 6 / 7]])
    assert_allclose(table.mean, table.probability)


def test_tables_drawn_from_counts_follow_the_dirichlet():
    counts = np.array([[4.0, 1.5, 0.5]])
    parent = Variable("one", ("only",))
    table = ConditionalTable.from_counts(RAIN, [parent], counts, prior_counts=0.0)
    rng = np.random.default_rng(3)
    drawn = np.array([table.sample_table(rng).probability[0] for _ in range(4000)])
    for k in range(3):
        beta = stats.beta(counts[0, k], counts.sum() - counts[0, k])
        assert stats.kstest(drawn[:, k], beta.cdf).pvalue > 0.01


def test_drawing_from_tiny_counts_gives_whole_tables():
    table = ConditionalTable.from_counts(RAIN, [], [1e-5, 0.0, 1e-5], prior_counts=0.0)
    rng = np.random.default_rng(4)
    for _ in range(50):
        drawn = table.sample_table(rng).probability
        assert_allclose(drawn.sum(), 1.0)
        assert drawn[1] == 0.0


def test_mean_and_draws_are_those_of_the_dirichlet():
    counts = np.array([[3.0, 1.0], [0.2, 1e-3], [5.0, 2.5]])
    table = ConditionalTable(WET, [RAIN], np.full((3, 2), 0.5), counts)
    assert_allclose(table.mean, Dirichlet(counts).mean(), rtol=1e-15)
    drawn = table.sample_table(np.random.default_rng(5)).probability
    assert_allclose(drawn, Dirichlet(counts).sample(np.random.default_rng(5)), rtol=1e-12)


def test_a_state_without_counts_is_impossible_in_the_mean():
    table = ConditionalTable.from_counts(RAIN, [], [2.0, 0.0, 2.0], prior_counts=0.0)
    assert table.probability.tolist() == [0.5, 0.0, 0.5]


def test_drawing_from_a_table_that_was_not_learned_gives_itself():
    table = ConditionalTable(WET, PARENTS, TABLE)
    assert table.sample_table(np.random.default_rng(0)) is table
    assert table.mean is table.probability


def test_a_setting_never_counted_needs_a_prior():
    with pytest.raises(ValueError, match=r"found none for rain='heavy'.*prior_counts above"):
        ConditionalTable.from_counts(WET, [RAIN], [[1, 1], [1, 1], [0, 0]], prior_counts=0.0)


def test_counts_of_nothing_are_refused_beside_a_table_too():
    with pytest.raises(ValueError, match="found none for rain='heavy'"):
        ConditionalTable(WET, [RAIN], np.full((3, 2), 0.5), [[1, 1], [1, 1], [0, 0]])


def test_rounding_is_repaired_with_a_warning_that_names_node_and_setting():
    rounded = TABLE.copy()
    rounded[1, 0] = [0.333, 0.666]
    with pytest.warns(
        RoundedTableWarning, match="wet must.*0.999 given rain='some', sprinkler=F"
    ):
        table = ConditionalTable(WET, PARENTS, rounded)
    assert_allclose(table.probability[1, 0], [1 / 3, 2 / 3])
    assert_allclose(table.probability.sum(axis=-1), 1.0)


def test_rounding_below_a_millionth_is_repaired_silently():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = ConditionalTable(RAIN, [], [0.3333333, 0.3333333, 0.3333333])
    assert_allclose(table.probability, 1 / 3, rtol=1e-15)


def test_probabilities_that_do_not_sum_to_one_name_node_and_setting():
    wrong = TABLE.copy()
    wrong[2, 1] = [0.3, 0.68]
    with pytest.raises(
        ValueError, match=r"wet must sum to one; found 0.98 given rain='heavy', spr"
    ):
        ConditionalTable(WET, PARENTS, wrong)


def test_transposed_tables_are_told_the_axes_expected():
    with pytest.raises(
        ValueError, match=r"shape \(3, 2, 2\), axes rain \(3\), sprinkler \(2\), w"
    ):
        ConditionalTable(WET, PARENTS, np.swapaxes(TABLE, 0, 1))


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_cells_that_are_no_probability_are_named(bad):
    wrong = TABLE.copy()
    wrong[0, 1, 1] = bad
    with pytest.raises(ValueError, match="at rain='none', sprinkler=True, wet='yes'"):
        ConditionalTable(WET, PARENTS, wrong)


def test_missing_settings_are_named():
    rows = as_dict()
    del rows["some", True]
    with pytest.raises(ValueError, match=r"none for rain='some', sprinkler=True. Add it"):
        ConditionalTable.from_dict(WET, PARENTS, rows)


def test_misspelled_states_meet_the_nearest_one():
    with pytest.raises(UnknownState, match="Did you mean 'heavy'"):
        ConditionalTable.from_dict(RAIN, [], {"havy": 1.0})
    with pytest.raises(UnknownState, match="Did you mean 'some'"):
        ConditionalTable.from_dict(WET, [RAIN], {"sone": [0.5, 0.5]})


def test_keys_that_are_no_setting_show_one():
    with pytest.raises(ValueError, match=r"such as \('none', False\); found 'none'"):
        ConditionalTable.from_dict(WET, PARENTS, {"none": [0.5, 0.5]})


def test_rows_of_a_wrong_length_list_the_states():
    with pytest.raises(
        ValueError, match=r"given rain='none' must be 2, one for each of \['no'"
    ):
        ConditionalTable.from_dict(WET, [RAIN], {"none": [0.5, 0.25, 0.25]})


def test_dictionary_with_a_parent_for_a_root_is_refused():
    with pytest.raises(ValueError, match="must be a number"):
        ConditionalTable.from_dict(WET, [], {"no": {"no": 1.0}, "yes": {"yes": 1.0}})


def test_frame_without_a_parent_column_names_the_column_it_should_have():
    frame = as_wide_frame().rename(columns={"rain": "Rain"})
    with pytest.raises(ValueError, match=r"found no 'rain' among .*'Rain'.*rename the column"):
        ConditionalTable.from_frame(WET, PARENTS, frame)


def test_a_row_given_twice_is_refused():
    frame = pd.concat([as_wide_frame(), as_wide_frame().iloc[:1]])
    with pytest.raises(ValueError, match=r"\('heavy', True\) twice"):
        ConditionalTable.from_frame(WET, PARENTS, frame)


@pytest.mark.parametrize("n_parents", [0, 1, 2])
def test_the_frame_of_a_table_is_read_back_as_the_table(n_parents):
    shape = [v.n_states for v in (*PARENTS[:n_parents], WET)]
    rng = np.random.default_rng(5)
    table = ConditionalTable(WET, PARENTS[:n_parents], rng.dirichlet([1, 1], shape[:-1]))
    again = ConditionalTable.from_frame(WET, PARENTS[:n_parents], table.frame())
    assert_allclose(again.probability, table.probability)


def test_a_cell_that_is_not_a_number_is_named_in_dictionaries_too():
    rows = {"none": [1, 0], "some": [np.nan, 1], "heavy": [0, 1]}
    with pytest.raises(ValueError, match="found nan at rain='some', wet='no'"):
        ConditionalTable.from_dict(WET, [RAIN], rows)
