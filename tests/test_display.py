"""Values show themselves in notebooks: small, escaped, and with what they say of all rows."""

import base64
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as LeastSquares

from credo import BayesianNetwork, FactorGraph, MarkovRandomField, compare, decide
from credo.decisions import AbsoluteLoss, LossMatrix
from credo.distributions import Categorical, Normal, Poisson, Predictive
from credo.graphs import Factor, Variable
from credo.models import LinearRegression

BAD = "<script>x</script>"


def tables(page):
    """Return the tables of a page as texts, one list for each row."""
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_a_predictive_shows_its_first_rows_and_the_range_of_all():
    mean, scale = np.linspace(-1.0, 5.0, 25), np.linspace(0.5, 2.0, 25)
    page = Predictive(Normal(mean, scale), 0.3 * scale, 0.9 * scale)._repr_html_()
    head, *rows = tables(page)
    assert head[:3] == ["row", "mean", "std"]
    assert len(rows) == 10
    low, high = mean[3] - 1.6448536 * scale[3], mean[3] + 1.6448536 * scale[3]
    numbers = [mean[3], scale[3], low, high, 0.3 * scale[3], 0.9 * scale[3]]
    assert rows[3] == ["3", *(f"{number:.4g}" for number in numbers)]
    assert "10 of 25 predictions are shown" in page
    assert "means from -1 to 5 and standard deviations from 0.5 to 2" in page
    assert "Predictive (Normal)" in page


@pytest.mark.parametrize(
    ("predictive", "places"),
    [
        (Predictive(Normal(1.0, 2.0), 0.0, 2.0), [""]),
        (Predictive(Normal(np.zeros((2, 2)), 1.0), 0.0, 1.0), ["0, 0", "0, 1", "1, 0", "1, 1"]),
        (Predictive(Poisson([3.0]), [0.0], np.sqrt([3.0])), ["0"]),
        (Predictive(Normal(np.zeros(0), 1.0), np.zeros(0), 1.0), []),
    ],
)
def test_a_predictive_of_any_shape_is_shown_whole_if_it_is_small(predictive, places):
    page = predictive._repr_html_()
    assert [row[0] for row in tables(page)[1:]] == places
    assert "are shown" not in page


def test_probabilities_of_many_classes_show_the_most_probable():
    share = np.full((30, 12), 0.01)
    share[:, [2, 7]] = 0.45
    labels = [BAD, *(f"c{k}" for k in range(1, 12))]
    page = Categorical(share, labels)._repr_html_()
    head, *rows = tables(page)
    assert "P(c2)" in head
    assert "P(c7)" in head
    assert (len(head), len(rows)) == (10, 10)
    assert rows[0][1] == "c2"
    assert rows[0][head.index("P(c7)")] == "0.450"
    assert "8 most probable of 12 labels" in page
    assert BAD not in page
    assert "P(&lt;script&gt;x&lt;/script&gt;)" in head


def test_a_decision_shows_actions_and_what_they_are_expected_to_cost():
    costs = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], [BAD, "treat"])
    share = np.tile([[0.95, 0.05], [0.8, 0.2], [0.8, 0.2]], (5, 1))
    page = decide(share, costs)._repr_html_()
    head, first, second, *rest = tables(page)
    assert head == ["row", "action", "expected loss", "runner up", "runner up loss"]
    assert first == ["0", "&lt;script&gt;x&lt;/script&gt;", "0.5", "treat", "0.95"]
    assert second[1:3] == ["treat", "0.8"]
    assert len(rest) == 8
    assert "Expected loss 0.7 per row over 15 rows." in page
    assert "Actions: treat 10, &lt;script&gt;x&lt;/script&gt; 5." in page
    assert BAD not in page


def test_a_decision_on_numbers_has_no_runner_up():
    page = decide(Normal([1.0, 2.0], 1.0), AbsoluteLoss())._repr_html_()
    assert tables(page)[1] == ["0", "1", "0.7979"]
    assert "Actions" not in page


def test_a_comparison_shows_its_table_and_what_may_be_said():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    y = x[:, 0] + 0.1 * rng.normal(size=60)
    models = {"line": LinearRegression(), BAD: LeastSquares(), "broken": Broken()}
    found = compare(models, x, y, cv=5, by=["evidence", "log_score", "rmse"])
    page = found._repr_html_()
    head, *rows = tables(page)
    assert head[:3] == ["model", "log score", "RMSE"]
    assert [row[0] for row in rows] == ["line", "&lt;script&gt;x&lt;/script&gt;"]
    assert rows[0][2].startswith(f"{found.table.loc['line', 'rmse']:.4g} ±")
    assert BAD not in page
    assert "<p>By evidence: nothing can be said.</p>" in page
    assert page.count("<details><summary>By ") == 2
    assert "broken failed: ValueError: cannot &lt;be&gt; fitted" in page


class Broken(LeastSquares):
    """A model that cannot be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise ValueError("cannot <be> fitted")


def drawn_texts(page):
    """Return all texts in the picture of a page."""
    picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page)[1]
    root = ElementTree.fromstring(base64.b64decode(picture))
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    return [node.text for node in root.iter() if node.tag.endswith("}text")]


def test_a_network_draws_itself_with_its_probabilities():
    tables = {BAD: [0.8, 0.2], "wet": [[0.9, 0.1], [0.1, 0.9]]}
    page = BayesianNetwork({BAD: [], "wet": [BAD]}, tables)._repr_html_()
    texts = drawn_texts(page)
    assert BAD in texts
    assert {"80 %", "20 %", "74 %", "26 %"} <= set(texts)
    assert BAD not in page


@pytest.mark.parametrize("kind", [MarkovRandomField, FactorGraph])
def test_fields_and_factor_graphs_draw_themselves(kind):
    a, b = Variable("a", (0, 1)), Variable("b", (0, 1))
    net = kind([Factor((a, b), [[1.0, 2.0], [3.0, 4.0]])])
    assert {"30 %", "70 %", "40 %", "60 %"} <= set(drawn_texts(net._repr_html_()))


def test_a_structure_alone_and_a_larger_network_are_drawn_by_name():
    assert set(drawn_texts(BayesianNetwork("rain -> wet")._repr_html_())) == {"rain", "wet"}
    chain = {f"v{i}": [f"v{i - 1}"] if i else [] for i in range(40)}
    shares = {
        name: [[0.9, 0.1], [0.1, 0.9]] if given else [0.5, 0.5] for name, given in chain.items()
    }
    texts = drawn_texts(BayesianNetwork(chain, shares)._repr_html_())
    assert set(texts) == set(chain)


def test_a_network_too_large_to_draw_is_told_in_words():
    page = BayesianNetwork({f"v{i}": [] for i in range(61)})._repr_html_()
    assert "61 variables are too many to draw" in page
    assert "<img" not in page


def test_a_question_to_a_network_loads_no_drawing():

    code = (
        "import sys; from credo import BayesianNetwork; "
        "BayesianNetwork('a -> b', {'a': [0.5, 0.5], 'b': [[1, 0], [0, 1]]}).query('b'); "
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
