"""The main job on a table with a fifth of its cells missing, against the same table whole."""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Case, Contender, Goal
from credo.data.sets.embedded_table import load_set
from credo.study.job import fit_table
from credo.study.result.result import FitSettings

__all__ = ["CASES"]

N_SAMPLES = 1_030
N_FEATURES = 8
N_FOLDS = 10


def concrete() -> pd.DataFrame:
    """Return the first inputs of a sample of rows, and the strength."""
    frame = load_set("concrete").sample(N_SAMPLES, random_state=0)
    return frame.drop(columns=frame.columns[N_FEATURES:-1])


def whole(frame: pd.DataFrame) -> Any:
    return fit_table(frame, "strength", FitSettings(n_folds=N_FOLDS))


def with_gaps(frame: pd.DataFrame) -> Any:
    is_gap = np.random.default_rng(0).random(frame.shape) < 0.2
    is_gap[:, frame.columns.get_loc("strength")] = False
    return whole(frame.mask(is_gap))


CASES = (
    Case(
        name="concrete, 1,030 rows, eight columns",
        data=concrete,
        contenders={
            "no gaps": Contender(whole),
            "a fifth of all cells missing": Contender(with_gaps),
        },
        reference="no gaps",
        goals=(Goal("a fifth of all cells missing", at_most=3.0),),
        repeats=3,
    ),
)
