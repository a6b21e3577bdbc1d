"""An answer of any kind, labelled for one dictionary of findings or for the rows of a table.

The exact posterior of a real variable carries the account that every answer has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from credo.distributions.distribution import Distribution
from credo.distributions.empirical import Empirical
from credo.distributions.mixture import Mixture
from credo.distributions.normal import Normal
from credo.graphs.variable import Variable
from credo.inference.discrete.findings import Findings
from credo.inference.engine.account import Account
from credo.models.network.answer.answers import RealMarginal
from credo.models.network.value.drawn_distribution import DrawnDistribution
from credo.models.network.value.joint_answer import JointAnswer, JointRows
from credo.models.network.value.network_answer import (
    labelled,
    labelled_rows,
    row_attrs,
    value_column,
)
from credo.numerics.array import Array

__all__ = [
    "ExactMixture",
    "ExactNormal",
    "labelled_answer",
    "value_columns",
    "with_account",
]


@dataclass(frozen=True, eq=False)
class ExactNormal(Normal):
    """A `Normal` that says how it was found.

    Attributes
    ----------
    account
        Method and error.
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(self, loc: ArrayLike, scale: ArrayLike, account: Account) -> None:
        object.__setattr__(self, "account", account)
        super().__init__(loc, scale)

    def __repr__(self) -> str:
        return repr(Normal(self.loc, self.scale))


@dataclass(frozen=True, eq=False)
class ExactMixture(Mixture):
    """A `Mixture` that says how it was found.

    Attributes
    ----------
    account
        Method and error.
    """

    _shared: ClassVar[frozenset[str]] = frozenset({"account"})

    account: Account

    def __init__(
        self, weights: ArrayLike, components: Sequence[Distribution], account: Account
    ) -> None:
        object.__setattr__(self, "account", account)
        super().__init__(weights, components)

    def __repr__(self) -> str:
        return repr(Mixture(self.weights, self.components))


def with_account(found: Distribution, account: Account) -> Distribution:
    """Return the posterior of a real variable with the account of how it was found.

    Examples
    --------
    >>> with_account(Normal(0.0, 1.0), Account()).account.is_exact
    True
    """
    if isinstance(found, DrawnDistribution):
        return found
    if isinstance(found, Normal):
        return ExactNormal(found.loc, found.scale, account)
    if isinstance(found, Mixture):
        return ExactMixture(found.weights, found.components, account)
    if isinstance(found, Empirical):
        return DrawnDistribution(found.draws, found.weights, account)
    return found


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
