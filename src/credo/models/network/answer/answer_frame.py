"""An answer of any kind, labelled for one dictionary of findings or for the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from credo.graphs.variable import Variable
from credo.inference.discrete.findings import Findings
from credo.inference.engine.account import Account
from credo.models.network.answer.answers import RealMarginal
from credo.models.network.value.exact_distribution import with_account
from credo.models.network.value.joint_answer import JointAnswer, JointRows
from credo.models.network.value.network_answer import (
    labelled,
    labelled_rows,
    row_attrs,
    value_column,
)
from credo.numerics.array import Array

__all__ = ["labelled_answer", "value_columns"]


def labelled_answer(
    variables: Sequence[Variable],
    found: Any,
    total: Array,
    findings: Findings[str],
    account: Account,
) -> Any:
    """Return what was found about some variables, under the names of states and rows.

    Parameters
    ----------
    found
        Table of probabilities, (n_rows, *n_states); or `JointRows`, or a `RealMarginal`.
    total
        Log total of the findings in each row, minus infinity where they are impossible.
    """
    if isinstance(found, JointRows):
        return JointAnswer(tuple(variables), found, account, total, findings.index)
    if not isinstance(found, np.ndarray):
        return _labelled_real(found, total, findings, account)
    if findings.index is None:
        return labelled(variables, found[0], account)
    return labelled_rows(variables, found, total, findings.index, account)


def value_columns(
    variables: Mapping[str, Variable], values: Mapping[str, Any], index: pd.Index[Any] | None
) -> pd.DataFrame:
    """Return states by position and real values, one column per name in ``values``."""
    columns = [value_column(variables[name], column, index) for name, column in values.items()]
    return pd.concat(columns, axis=1) if columns else pd.DataFrame(index=index)


def _labelled_real(
    found: RealMarginal, total: Array, findings: Findings[str], account: Account
) -> Any:
    """Return the distribution of a real variable, or its moments row by row."""
    if findings.index is None:
        return with_account(found.mixture(0), account)
    mean = found.total_mean()
    parts = {"mean": mean, "std": np.sqrt(found.total_variance())}
    frame = pd.DataFrame(parts, index=findings.index)
    frame.attrs = account.attrs() | row_attrs(np.isnan(mean), total)
    return frame
