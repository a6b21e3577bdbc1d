import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from credo import DecisionStump


def test_the_threshold_is_midway_and_sides_are_counted():
    x = np.array([[5.0, 1.0], [5.0, 2.0], [6.0, 3.0], [6.0, 7.0], [5.0, 9.0]])
    stump = DecisionStump().fit(x, ["a", "a", "a", "b", "b"], sample_weight=[1, 2, 1, 1, 3])
    assert (stump.feature_, stump.threshold_, stump.error_) == (1, 5.0, 0.0)
    assert_array_equal(stump.class_weight_, [[4.0, 0.0], [0.0, 4.0]])
    assert_allclose(stump.predict_proba([[0.0, 4.9]]), [[5 / 6, 1 / 6]])


def test_a_stump_makes_no_more_errors_than_a_tree_of_depth_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.normal(size=(40, 4)), rng.integers(0, 3, 40)
        tree = DecisionTreeClassifier(max_depth=1).fit(x, y)
        stump = DecisionStump().fit(x, y)
        assert_allclose(stump.error_, (stump.predict(x) != y).mean())
        assert stump.error_ <= (tree.predict(x) != y).mean() + 1e-12


@pytest.mark.parametrize("change", [np.exp, lambda x: x**3, lambda x: 1e6 * x - 3])
def test_only_the_order_of_values_counts(change):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 3))
    y = x[:, 1] + 0.3 * rng.normal(size=50) > 0
    plain, changed = DecisionStump().fit(x, y), DecisionStump().fit(change(x), y)
    assert_array_equal(plain.predict_proba(x), changed.predict_proba(change(x)))


def test_columns_without_information_give_the_commonest_class():
    stump = DecisionStump().fit(np.ones((4, 2)), [1, 1, 1, 0])
    assert stump.threshold_ == -np.inf
    assert_array_equal(stump.predict([[0.0, 0.0], [9.0, 9.0]]), [1, 1])
    assert_allclose(stump.predict_proba([[3.0, 3.0]]), [[2 / 6, 4 / 6]])
    assert stump.describe() == "1"


def test_a_stump_says_in_words_what_it_asks():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [20.0, 30.0, 40.0, 50.0]})
    stump = DecisionStump().fit(frame, ["young", "young", "old", "old"])
    assert stump.describe() == "old if age > 35, else young"


@pytest.mark.parametrize("concentration", [0.0, -1.0])
def test_a_pseudo_count_must_be_positive(concentration):
    with pytest.raises(
        ValueError, match=f"concentration must be positive; found {concentration}"
    ):
        DecisionStump(concentration).fit([[1.0], [2.0]], [0, 1])
