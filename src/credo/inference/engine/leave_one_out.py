"""Leave-one-out scores from the draws of one posterior, by Pareto-smoothed importance weights.

The posterior without a row has the weights ``1 / p(y_i | parameters)`` under the whole one.
Their tail says, row by row, whether that may be done [vehtari2017]_.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.inference.engine.draws import effective_draws
from credo.inference.engine.engine import ConvergenceWarning
from credo.inference.engine.pareto import largest_k_hat, pareto_smoothed
from credo.inference.engine.stacking import stacking_weights
from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.special.log_domain import log_sum_exp
from credo.numerics.warning import warn_user

__all__ = ["LeaveOneOut", "compare_leave_one_out", "leave_one_out"]


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """How well rows are predicted from all others.

    Attributes
    ----------
    log_score
        Log predictive density of each row given the others, shape (n,).
    k_hat
        Shape of the tail of the weights that leave out each row, shape (n,).
    log_fit
        Log predictive density of each row given all rows, itself among them, shape (n,).
    n_draws
        Draws that the scores were found from.
    """

    log_score: Annotated[Array, Form("n")]
    k_hat: Annotated[Array, Form("n", -np.inf, np.inf)]
    log_fit: Annotated[Array, Form("n")]
    n_draws: int

    @property
    def elpd(self) -> float:
        """Expected log predictive density of as many new rows: the sum of ``log_score``."""
        return float(self.log_score.sum())

    @property
    def standard_error(self) -> float:
        """Standard error of ``elpd``, from the spread over the rows."""
        return _error_of_sum(self.log_score)

    @property
    def effective_parameters(self) -> float:
        """How much better rows are fitted than predicted: the parameters that they move."""
        return float(self.log_fit.sum()) - self.elpd

    @property
    def doubtful(self) -> NDArray[np.intp]:
        """Positions of rows whose weights are too uneven for their score to be trusted."""
        return np.flatnonzero(self.k_hat > largest_k_hat(self.n_draws))

    def __repr__(self) -> str:
        doubt = f", {len(self.doubtful)} doubtful rows" if len(self.doubtful) else ""
        return (
            f"LeaveOneOut(elpd {self.elpd:.4g} +- {self.standard_error:.2g}, "
            f"{self.effective_parameters:.3g} effective parameters{doubt})"
        )


def leave_one_out(
    log_likelihood: ArrayLike,
    log_weight: ArrayLike | None = None,
    *,
    efficiency: ArrayLike | None = None,
) -> LeaveOneOut:
    """Return how well each row is predicted without it, from draws given all rows.

    Parameters
    ----------
    log_likelihood
        Log density of each row under each draw, shape (n_chains, n_draws, n).
    log_weight
        Log weights of the draws, shape (n_chains, n_draws); None if they count alike.
    efficiency
        Independent draws that a draw is worth, for each row or for all; by default from the
        autocorrelation of the likelihood of each row, and one for draws with weights.

    Warns
    -----
    ConvergenceWarning
        If there are doubtful rows; fit the model again without them to know their scores.

    Examples
    --------
    The mean of normal numbers of known variance, with a flat prior:

    >>> y = np.linspace(-2.0, 2.0, 20)
    >>> level = np.random.default_rng(0).normal(y.mean(), 20**-0.5, size=(1, 4000, 1))
    >>> found = leave_one_out(-0.5 * (y - level) ** 2 - 0.5 * np.log(2 * np.pi))
    >>> others, variance = (y.sum() - y) / 19, 20 / 19
    >>> exact = -0.5 * ((y - others) ** 2 / variance + np.log(2 * np.pi * variance))
    >>> bool(np.abs(found.log_score - exact).max() < 0.02)
    True
    """
    density = _checked(log_likelihood)
    n_chains, n_draws, n = density.shape
    flat = density.reshape(-1, n)
    weight = np.zeros(len(flat))
    if log_weight is not None:
        weight = np.broadcast_to(as_float(log_weight), (n_chains, n_draws)).ravel()
    worth = efficiency
    if worth is None:
        worth = 1.0 if log_weight is not None else _efficiency(density)
    smoothed, k_hat = pareto_smoothed(weight[:, None] - flat, efficiency=worth)
    log_score = log_sum_exp(smoothed + flat, axis=0) - log_sum_exp(smoothed, axis=0)
    log_fit = log_sum_exp(weight[:, None] + flat, axis=0) - log_sum_exp(weight)
    found = LeaveOneOut(log_score, k_hat, log_fit, len(flat))
    if len(found.doubtful):
        warn_user(
            f"weights that leave out a row must have a k_hat of at most "
            f"{largest_k_hat(len(flat)):.2f}; found {float(k_hat.max()):.2f} for row "
            f"{int(k_hat.argmax())}, and {len(found.doubtful)} rows above it. Fit the model "
            "again without these rows, or take one that bears outliers.",
            ConvergenceWarning,
        )
    return found


def compare_leave_one_out(
    models: Mapping[str, LeaveOneOut],
    log_evidence: Mapping[str, float] | None = None,
    held_out: Mapping[str, ArrayLike] | None = None,
) -> pd.DataFrame:
    """Return models in the order of their scores, with the error of each difference.

    Rows that all models find hard say nothing of which is better: the error of a difference
    is that of a sum over rows of differences, not of two sums. ``weight`` is that of the
    mixture that predicts best (stacking).

    Parameters
    ----------
    log_evidence
        Log evidence of each model, for a column beside the scores. It asks how well a model
        foretold all rows before it saw any, and depends on the prior as scores do not.
    held_out
        Log predictive density of each row by cross-validation, shape (n,) each, for columns of
        their sum and of the sum of leave-one-out scores less it: what weights have missed.

    Raises
    ------
    ValueError
        If models have scores of different numbers of rows.

    Examples
    --------
    >>> good = LeaveOneOut(np.array([-1.0, -2.0, -1.5]), np.zeros(3), np.zeros(3), 100)
    >>> poor = LeaveOneOut(np.array([-1.5, -2.5, -2.1]), np.zeros(3), np.zeros(3), 100)
    >>> compare_leave_one_out({"poor": poor, "good": good})["difference"].round(2).to_dict()
    {'good': 0.0, 'poor': -1.6}
    """
    sizes = {name: len(found.log_score) for name, found in models.items()}
    folds = {name: as_float(x) for name, x in (held_out or {}).items()}
    for what, given in (("log_evidence", log_evidence), ("held_out", held_out)):
        if given is not None and set(given) != set(models):
            raise ValueError(
                f"{what} must have an entry for each of {list(models)}; found {list(given)}. "
                "Name all models."
            )
    if len({*sizes.values(), *(len(x) for x in folds.values())}) != 1:
        raise ValueError(
            f"models must be of the same rows; found numbers of rows {sizes}. Compare models "
            "that were fitted to one table."
        )
    names = sorted(models, key=lambda name: -models[name].elpd)
    best = models[names[0]].log_score
    shift = {name: models[name].log_score - best for name in names}
    weights = stacking_weights([models[name].log_score for name in names])
    columns = {
        "elpd": [models[name].elpd for name in names],
        "standard_error": [models[name].standard_error for name in names],
        "difference": [float(shift[name].sum()) for name in names],
        "difference_error": [_error_of_sum(shift[name]) for name in names],
        "effective_parameters": [models[name].effective_parameters for name in names],
        "weight": list(weights),
        "n_doubtful": [len(models[name].doubtful) for name in names],
    }
    if log_evidence is not None:
        columns["log_evidence"] = [float(log_evidence[name]) for name in names]
    if folds:
        columns["held_out"] = [float(folds[name].sum()) for name in names]
        columns["beyond_held_out"] = [
            models[name].elpd - float(folds[name].sum()) for name in names
        ]
    return pd.DataFrame(columns, index=pd.Index(names, name="model"))


def _checked(log_likelihood: ArrayLike) -> Array:
    density = as_float(log_likelihood)
    if density.ndim != 3 or 0 in density.shape:
        raise ValueError(
            "log_likelihood must have axes (n_chains, n_draws, n_rows); found the shape "
            f"{density.shape}. Write x[None] for a single chain."
        )
    if not np.isfinite(density).all():
        raise ValueError(
            "log_likelihood must be finite; found a row that a draw deems impossible, or NaN, "
            f"in row {int(np.flatnonzero(~np.isfinite(density).all(axis=(0, 1)))[0])}. A "
            "posterior given that row has no such draw: check the likelihood."
        )
    return density


def _efficiency(log_likelihood: Array) -> Array:
    """Return the independent draws that a draw of each row's likelihood is worth."""
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=(0, 1)))
    n_draws = likelihood.shape[0] * likelihood.shape[1]
    share = effective_draws(likelihood, is_ranked=False) / n_draws
    return np.where(np.isfinite(share), share, 1.0)


def _error_of_sum(x: Array) -> float:
    return float(np.sqrt(len(x)) * x.std(ddof=1)) if len(x) > 1 else float("nan")
