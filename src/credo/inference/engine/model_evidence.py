"""Evidence of models: what it says about them, and three classical approximations to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from credo.numerics.array import Array, as_float
from credo.numerics.form import Form

__all__ = [
    "LEARNED",
    "TRANSFORMED",
    "Evidence",
    "SettingEvidence",
    "bic_evidence",
    "evidence_over_data_sets",
    "evidence_over_settings",
    "laplace_evidence",
    "model_posterior",
    "width_evidence",
]

TRANSFORMED = "the inputs were transformed"
"""Why a model of X and y in a pipeline has no evidence: its X is not that of the others."""

LEARNED = "a step before the model has learned from the outcomes"
"""Why a model behind a choice of columns has no evidence: it leaves out that choice."""

# Left by the fit of scikit-learn's selections, whose tags do not say that they need y.
CHOICES = ("scores_", "estimator_")


@dataclass(frozen=True)
class Evidence:
    """The log evidence of a fitted model, and with which others it can be compared.

    Attributes
    ----------
    value
        Log evidence; NaN if there is none.
    method
        How it was found.
    of
        What it is the probability of, "y given X" or "X and y".
    flat
        Parameters with a flat prior, which has no scale.
    reason
        Why it cannot be used; empty if it can.
    """

    value: float
    method: str
    of: str
    flat: tuple[str, ...]
    reason: str = ""

    @classmethod
    def of_model(cls, fitted: Any) -> Evidence:
        """Return the evidence of a fitted model, reaching through pipelines.

        A step that has learned from the outcomes, such as a selection of columns or a target
        encoder, has used them up in part: there is no evidence behind it. Steps are known by
        their tags, and those of scikit-learn by what they leave; one that does neither is
        taken to look at the inputs alone.
        """
        if hasattr(fitted, "steps"):
            inner = cls.of_model(fitted.steps[-1][1])
            if any(_uses_outcomes(step) for _, step in fitted.steps[:-1]):
                return cls(np.nan, "none", inner.of, (), LEARNED)
            if inner.of != "y given X" and len(fitted.steps) > 1:
                return cls(np.nan, "none", inner.of, (), TRANSFORMED)
            return inner
        value = float(getattr(fitted, "log_evidence_", np.nan))
        return cls(
            value,
            str(getattr(fitted, "evidence_method_", "none")),
            str(getattr(fitted, "evidence_of_", "y given X")),
            tuple(getattr(fitted, "evidence_flat_", ())),
            "" if np.isfinite(value) else "there is no evidence",
        )

    @property
    def key(self) -> tuple[str, tuple[str, ...], bool]:
        """Evidences of equal keys can be compared."""
        return self.of, self.flat, self.method == "bound"


def _uses_outcomes(step: Any) -> bool:
    """Return whether a fitted step, or one inside it, has looked at the outcomes."""
    inner = [*getattr(step, "steps", ()), *getattr(step, "transformers_", ())]
    if any(_uses_outcomes(part[1]) for part in inner):
        return True
    if any(hasattr(step, name) for name in CHOICES):
        return True
    return hasattr(step, "__sklearn_tags__") and bool(
        step.__sklearn_tags__().target_tags.required
    )


def model_posterior(log_evidence: ArrayLike, prior: ArrayLike | None = None) -> Array:
    """Return the probability of each model, ``p(M) p(D | M)`` normalized.

    Parameters
    ----------
    log_evidence
        Log evidence of each model on the same data, shape (n_models,).
    prior
        Prior probability of each model; equal if not given.

    Examples
    --------
    >>> model_posterior([-11.3968737, -4.8393921, -6.6779708, -8.4771021]).round(4)
    array([0.0012, 0.8426, 0.134 , 0.0222])
    """
    evidences = as_float(log_evidence)
    weights = np.ones(evidences.shape) if prior is None else as_float(prior)
    if weights.shape != evidences.shape or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(
            "prior must hold one non-negative number per model, not all zero; found "
            f"{weights.tolist()} for {len(evidences)} models. Pass probabilities."
        )
    if np.isnan(evidences).any():
        raise ValueError(
            "every model must have a log evidence; found NaN for model "
            f"{int(np.flatnonzero(np.isnan(evidences))[0])}. Maximum likelihood has none: "
            "choose another inference for that model."
        )
    with np.errstate(divide="ignore"):
        return np.asarray(special.softmax(evidences + np.log(weights)))


def laplace_evidence(log_joint: float, precision: ArrayLike) -> float:
    """Return the log integral of a density approximated by a normal at its maximum.

    ``log_joint + d/2 log(2 pi) - 1/2 log det(precision)``; exact if the density is normal.

    Parameters
    ----------
    log_joint
        Log likelihood plus log prior at the maximum.
    precision
        Negative second derivatives there, shape (d, d).

    Examples
    --------
    >>> round(float(np.exp(laplace_evidence(-0.6651272730, 34.7141742073))), 8)
    0.21876378
    """
    matrix = np.atleast_2d(as_float(precision))
    factor = np.linalg.cholesky(matrix)
    log_det = 2 * np.log(np.diagonal(factor)).sum()
    return float(log_joint + 0.5 * len(matrix) * np.log(2 * np.pi) - 0.5 * log_det)


def bic_evidence(log_likelihood: float, n_parameters: float, n_rows: float) -> float:
    """Return the Bayesian information criterion as a log evidence.

    ``log_likelihood - n_parameters / 2 * log(n_rows)``, at the maximum of the likelihood;
    terms that do not grow with the data are left out.

    Examples
    --------
    >>> round(bic_evidence(-562.3351446188, 1, 1000), 6)
    -565.789022
    """
    return float(log_likelihood - 0.5 * n_parameters * np.log(n_rows))


def width_evidence(
    log_likelihood: float, posterior_width: ArrayLike, prior_width: ArrayLike
) -> float:
    """Return the likelihood times the Occam factor, the share of prior width that is left.

    Parameters
    ----------
    log_likelihood
        At the most probable parameters.
    posterior_width, prior_width
        One width for each parameter; ``sqrt(2 pi)`` times the posterior standard deviation
        against a flat prior gives the Laplace approximation.
    """
    shares = np.log(as_float(posterior_width)) - np.log(as_float(prior_width))
    return float(log_likelihood + shares.sum())


def evidence_over_data_sets(
    models: Mapping[str, Any], data_sets: Iterable[ArrayLike]
) -> pd.DataFrame:
    """Return the log evidence of each model for each of several data sets.

    Over all data sets that there can be each model's evidence sums to one: a model that can
    explain many of them expects little of each, which is Occam's razor.

    Parameters
    ----------
    models
        Beliefs by name, with ``statistics_of`` and ``log_evidence``.
    data_sets
        Rows, shape (n, d) each.

    Examples
    --------
    >>> from credo.distributions import Bernoulli
    >>> from credo.families import BetaBernoulli, Known
    >>> coins = {"fair": Known(Bernoulli([0.5])), "any": BetaBernoulli([1.0], [1.0])}
    >>> flips = [[[a], [b]] for a in (0, 1) for b in (0, 1)]
    >>> np.exp(evidence_over_data_sets(coins, flips)).sum().round(12).to_dict()
    {'fair': 1.0, 'any': 1.0}
    """
    rows = [
        {
            name: float(np.sum(belief.log_evidence(belief.statistics_of(data))))
            for name, belief in models.items()
        }
        for data in map(as_float, data_sets)
    ]
    return pd.DataFrame(rows, columns=list(models))


@dataclass(frozen=True, eq=False)
class SettingEvidence:
    """The evidence of a model at each value of a setting, such as the width of a basis.

    Attributes
    ----------
    settings
        Values, rising, shape (k,).
    log_evidence
        Log evidence at each.
    log_prior
        Log prior density at each, with integral one over the grid.
    """

    settings: Annotated[Array, Form("k", is_rising=True)]
    log_evidence: Annotated[Array, Form("k")]
    log_prior: Annotated[Array, Form("k")]

    @property
    def integrated(self) -> float:
        """Log of the evidence, integrated over the setting under its prior."""
        logs = self.log_evidence + self.log_prior + np.log(_panels(self.settings))
        return float(special.logsumexp(logs))

    @property
    def posterior(self) -> Array:
        """Posterior density of the setting at each value, shape (k,)."""
        return np.exp(self.log_evidence + self.log_prior - self.integrated)

    @property
    def weight(self) -> Array:
        """Posterior probability of the part of the grid about each value; sums to one."""
        return np.asarray(self.posterior * _panels(self.settings))

    @property
    def most_probable(self) -> float:
        """Value of largest posterior density."""
        return float(self.settings[int(np.argmax(self.log_evidence + self.log_prior))])


def evidence_over_settings(
    log_evidence: Callable[[float], float],
    settings: ArrayLike,
    log_prior: Callable[[Array], ArrayLike] | None = None,
) -> SettingEvidence:
    """Return the evidence at each value of a setting, with its maximum and its integral.

    Parameters
    ----------
    log_evidence
        From a value to the log evidence of the model that has it.
    settings
        Rising values.
    log_prior
        Log prior density of values, normalized over the grid; flat by default.

    Examples
    --------
    >>> found = evidence_over_settings(lambda x: -0.5 * (x - 2.0) ** 2, np.linspace(0, 4, 41))
    >>> found.most_probable, round(float(found.weight.sum()), 6)
    (2.0, 1.0)
    """
    grid = as_float(settings)
    if grid.ndim != 1 or len(grid) < 2 or not (np.diff(grid) > 0).all():
        raise ValueError(
            f"settings must be two or more rising numbers; found {grid.tolist()}. Sort them."
        )
    logs = np.zeros(len(grid)) if log_prior is None else as_float(log_prior(grid))
    logs = logs - special.logsumexp(logs + np.log(_panels(grid)))
    return SettingEvidence(grid, np.array([float(log_evidence(x)) for x in grid]), logs)


def _panels(grid: Array) -> Array:
    """Return the weights of the trapezoid rule."""
    gaps = np.diff(grid)
    return np.asarray(0.5 * (np.append(gaps, 0.0) + np.append(0.0, gaps)))
