import numpy as np
import pandas as pd
import pytest

from credo.graphs import LinearGaussian
from credo.inference import methods
from credo.inference.engine.network import PlanReport
from credo.models import BayesianNetwork
from credo.models.network.value.network_answer import shown_names

NET = BayesianNetwork(
    "a -> b -> x",
    cpts={
        "a": [0.3, 0.7],
        "b": {False: {"lo": 0.6, "hi": 0.4}, True: {"lo": 0.1, "hi": 0.9}},
        "x": {"lo": LinearGaussian(0.0, {}, 1.0), "hi": LinearGaussian(2.0, {}, 1.0)},
    },
)


def test_marginals_become_one_frame():
    frame = NET.marginals().frame()
    assert list(frame.columns) == ["variable", "state", "probability"]
    assert frame["variable"].tolist() == ["a", "a", "b", "b"]
    assert frame["state"].tolist() == [False, True, "lo", "hi"]
    np.testing.assert_allclose(frame["probability"], [0.3, 0.7, 0.25, 0.75])


def test_marginals_of_a_table_become_one_frame_with_the_labels_of_its_rows():
    cases = pd.DataFrame({"a": [False, True]}, index=["mon", "tue"])
    frame = NET.marginals(cases).frame()
    assert frame["row"].tolist() == ["mon", "mon", "tue", "tue"]
    assert frame["state"].tolist() == ["lo", "hi"] * 2
    np.testing.assert_allclose(frame["probability"], [0.6, 0.4, 0.1, 0.9])


def test_marginals_of_nothing_become_an_empty_frame():
    frame = NET.marginals({"a": True, "b": "lo"}).frame()
    assert frame.empty
    assert list(frame.columns) == ["variable", "state", "probability"]


def test_marginals_show_themselves_in_one_line():
    assert repr(NET.marginals()) == "Marginals(3 variables: a, b, x; log_prob=0, by exact)"
    cases = pd.DataFrame({"a": [False, True]})
    assert repr(NET.marginals(cases)) == "Marginals(2 variables: b, x; 2 rows, by exact)"


@pytest.mark.parametrize("targets", ["a", ["a", "b"]])
def test_probabilities_are_called_so_once_the_index_is_reset(targets):
    frame = NET.query(targets).reset_index()
    assert list(frame.columns) == [*targets, "probability"]


def test_only_a_few_of_many_names_are_shown():
    assert shown_names(list("abcdefgh")) == "8 variables: a, b, c, d, e, f, ..."


def test_a_plan_tells_its_memory_in_a_unit_that_fits():
    assert "1.5 kB and about" in str(PlanReport(2, 64, 1500, 1e-6, True))
    assert "2.5 GB and about" in str(PlanReport(2, 64, 2_500_000_000, 1e-6, True))


def test_one_list_of_methods_is_told_everywhere():
    net = BayesianNetwork("a -> b", cpts={"a": [0.3, 0.7], "b": np.eye(2)})
    with pytest.raises(ValueError, match=r"method must be one of .*; found 'gibs'") as told:
        net.query("a", method="gibs")
    assert len(methods()) > 6
    for method in methods():
        assert f"'{method}'" in str(told.value)
    assert "credo.inference.methods" in BayesianNetwork.query.__doc__
