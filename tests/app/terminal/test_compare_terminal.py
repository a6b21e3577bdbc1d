import numpy as np
import pandas as pd

from credo.app.terminal.compare_terminal import said_by
from credo.evaluation import Comparison, Verdict


def decided(first, second, kind):
    """Return a verdict of which only the words matter."""
    numbers = (0.97, 0.0, 0.1, 0.0, 0.2, 100, np.nan)
    return Verdict(first, second, "log_score", kind, *numbers, f"{first} {kind} {second}")


def test_of_many_models_the_pairs_that_decide_are_told_beside_those_of_the_leader():
    verdicts = (
        decided("a", "b", "not distinguishable"),
        decided("a", "c", "not distinguishable"),
        decided("a", "d", "not distinguishable"),
        decided("b", "c", "practically equal"),
        decided("b", "d", "better"),
        decided("c", "d", "not distinguishable"),
    )
    nothing = np.zeros(0), np.zeros(0, dtype=np.intp), {}, ()
    table = pd.DataFrame(index=list("abcd"))
    found = Comparison(table, verdicts, ("log_score",), *nothing, "classifier", 0.95, 0.01)
    head, told = said_by(found, "log_score")
    assert head.startswith("No single best; unbeaten: a, b, c (a and b are not dist")
    # The leader could not beat d; that b did is why d is out, and c and d decide nothing.
    assert told == [f"{verdict}." for verdict in verdicts[:5]]
