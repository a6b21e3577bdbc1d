import re

import numpy as np
import pandas as pd
import pytest

from credo.data.error import ModelFileError, TableError
from credo.decisions import LossMatrix
from credo.distributions import Categorical
from credo.graphs import DirectedGraph, UndirectedGraph, Variable
from credo.models import BayesianNetwork, LogisticRegression, NaiveBayes
from credo.numerics.quotation import MOST_QUOTED, quote, short_quotes
from credo.validation.splits import stratified_fold_labels

LONG = "z" * 40_000
NETWORK = BayesianNetwork(
    "rain{no|yes} -> wet{no|yes}", {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}
)
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.5], [3.0, 0.5]])


def test_short_texts_are_quoted_as_they_are_and_long_ones_by_their_start():
    assert quote({"a": ["it's", 1.5]}) == repr({"a": ["it's", 1.5]})
    assert quote("y" * 80) == repr("y" * 80)
    assert quote("y" * 81) == f"'{'y' * 77}...'"
    assert quote([LONG, "next", LONG]).count("next") == 1
    assert len(quote([LONG, "next", LONG])) < 3 * MOST_QUOTED


def test_what_stands_between_quotes_stays():
    assert short_quotes("'a' " + "word " * 50 + "'b'") == "'a' " + "word " * 50 + "'b'"


REFUSED = {
    "a state": lambda: NETWORK.query("wet", given={"rain": LONG}),
    "a state in a table": lambda: NETWORK.predict_proba(
        pd.DataFrame({"rain": ["yes", LONG]}), "wet"
    ),
    "a variable": lambda: NETWORK.query(LONG),
    "a finding": lambda: NETWORK.query("wet", given={LONG: "yes"}),
    "a column": lambda: NETWORK.predict_proba(pd.DataFrame({LONG: [1]}), "wet"),
    "a node": lambda: DirectedGraph.from_text("a -> b").parents(LONG),
    "a neighbor": lambda: UndirectedGraph.from_edges([(LONG, LONG)]),
    "states": lambda: Variable("a", (LONG, LONG)),
    "a label": lambda: Categorical([0.5, 0.5], [LONG, LONG]),
    "losses": lambda: LossMatrix.zero_one([LONG, "b"]).probabilities([[0.5, 0.5, 0.0]]),
    "a class weight": lambda: LogisticRegression(class_weight={LONG: 1.0}).fit(X, [0, 1] * 2),
    "a class": lambda: stratified_fold_labels([LONG, "b", "b"], 2, np.random.default_rng(0)),
    "a kind": lambda: NaiveBayes(kinds={LONG: "gaussian"}).fit(X, [0, 1] * 2),
    "a setting": lambda: LogisticRegression(inference=LONG).fit(X, [0, 1] * 2),
    "a name": lambda: LogisticRegression().fit(
        pd.DataFrame(X, columns=[LONG, LONG]), [0, 1] * 2
    ),
}


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_quotes_at_most_eighty_characters(ask):
    with pytest.raises((ValueError, TypeError, KeyError)) as caught:
        ask()
    runs = re.findall("z+", str(caught.value))
    assert runs
    assert max(map(len, runs)) <= MOST_QUOTED


@pytest.mark.parametrize("error", [TableError, ModelFileError])
def test_errors_about_files_shorten_what_they_are_told(error):
    assert str(error(f"found {LONG!r} here")) == f"found {quote(LONG)} here"
