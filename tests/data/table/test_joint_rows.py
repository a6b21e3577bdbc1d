import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.data.table.joint_rows import JointRows, without_cells
from credo.data.table.preparation import TablePreparation


def rules(frame):
    return JointRows.learn(TablePreparation.learn(frame), frame)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 200
    return pd.DataFrame(
        {
            "plain": rng.normal(5, 2, n),
            "income": np.exp(rng.normal(8, 2, n)),
            "balance": np.sinh(rng.normal(0, 4, n)),
            "doors": rng.choice([2, 4, 5], n),
            "color": rng.choice(["red", "blue"], n),
            "day": pd.date_range("2024-01-01", periods=n).astype(str),
        }
    ).assign(plain=lambda f: f["plain"].mask(f.index % 10 == 3))


def test_each_column_stands_on_the_scale_that_suits_it(frame):
    scales = {column.name: column.scale for column in rules(frame).columns}
    assert scales == {
        "plain": "plain",
        "income": "log",
        "balance": "arcsinh",
        "doors": "words",
        "color": "words",
        "day": "plain",
    }


def test_cells_of_the_table_come_back_from_rows_of_the_density(frame):
    joint = rules(frame)
    back = joint.cells(joint.rows(frame))
    for name in ("plain", "income", "balance", "doors"):
        assert_allclose(back[name], frame[name], rtol=1e-9)
    assert back["color"].tolist() == frame["color"].tolist()
    assert_allclose(back["day"], np.arange(200), atol=1e-9)


def test_units_of_numbers_do_not_matter(frame):
    large = frame.assign(income=1e6 * frame["income"], balance=0.001 * frame["balance"])
    first, second = rules(frame).rows(frame), rules(large).rows(large)
    for name in ("plain", "income", "balance"):
        assert_allclose(first[name], second[name], atol=1e-9)


def test_a_number_that_was_never_seen_among_few_is_the_nearest():
    frame = pd.DataFrame({"doors": [2, 4] * 20, "x": np.arange(40.0) ** 1.5})
    joint = rules(frame)
    new = pd.DataFrame({"doors": [3.9, None], "x": [1.0, 2.0]})
    word, gap = joint.rows(new)["doors"]
    assert word == "4"
    assert pd.isna(gap)


def test_a_few_cells_far_out_are_set_apart_and_a_group_is_not():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    alone, group = x.copy(), x.copy()
    alone[7] = 1e4
    group[:30] += 40.0
    frame = pd.DataFrame({"alone": alone, "group": group})
    joint = rules(frame)
    rows = joint.rows(frame)
    is_far = joint.far_cells(rows)
    assert np.argwhere(is_far).tolist() == [[7, 0]]
    assert np.isnan(without_cells(rows, is_far)["alone"][7])
