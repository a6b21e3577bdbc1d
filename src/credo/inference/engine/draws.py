"""Draws from a posterior: named arrays with chains and draws as axes, and what they are worth.

Draws of one weight come from Markov chains and count by their autocorrelation; draws with
weights come from importance sampling, are independent, and count by how even the weights are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from credo.inference.engine import markov_chain
from credo.numerics.array import Array, as_float
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["Draws"]


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of named quantities, each of shape (n_chains, n_draws, ...).

    Parameters
    ----------
    values
        Draws by name; a quantity may have axes of its own after chains and draws.
    log_weight
        Log of the weight of each draw, shape (n_chains, n_draws), up to a constant; None for
        draws that count alike.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> level, slope = rng.normal(size=(4, 500)), rng.normal(size=(4, 500, 2))
    >>> draws = Draws({"level": level, "slope": slope})
    >>> draws
    Draws(level, slope[2]: 4 chains of 500)
    >>> list(draws.summary().index)
    ['level', 'slope[0]', 'slope[1]']
    """

    values: Mapping[str, Array]
    log_weight: Array | None = None

    def __post_init__(self) -> None:
        values = {name: as_float(x) for name, x in self.values.items()}
        weight = None if self.log_weight is None else as_float(self.log_weight)
        _require_axes(values, weight)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "log_weight", weight)

    @classmethod
    def joined(cls, parts: Sequence[Draws]) -> Draws:
        """Return the chains of several runs side by side; weights must have one constant."""
        weights = [part.log_weight for part in parts if part.log_weight is not None]
        if not parts or len(weights) not in (0, len(parts)):
            raise ValueError(
                f"parts must be draws that all have weights, or none; found {len(weights)} "
                f"with weights among {len(parts)}. Join those of one kind."
            )
        names = parts[0].values
        values = {name: np.concatenate([part.values[name] for part in parts]) for name in names}
        return cls(values, np.concatenate(weights) if weights else None)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self._shape[0]

    @property
    def n_draws(self) -> int:
        """Number of draws of each chain."""
        return self._shape[1]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quantities."""
        return tuple(self.values)

    def __getitem__(self, name: str) -> Array:
        if name not in self.values:
            raise KeyError(
                f"name must be one of {list(self.values)}; found {name!r}. Read draws.names."
            )
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def pooled(self, name: str) -> Array:
        """Return the draws of all chains in one row, shape (n_chains * n_draws, ...)."""
        x = self[name]
        return x.reshape(-1, *x.shape[2:])

    def after(self, n: int) -> Self:
        """Return the draws without the first ``n`` of each chain, as a warm-up is left out."""
        weight = None if self.log_weight is None else self.log_weight[:, n:]
        return type(self)({name: x[:, n:] for name, x in self.values.items()}, weight)

    @cached_property
    def weight(self) -> Array:
        """Weights of all draws in one row, which sum to one."""
        if self.log_weight is None:
            return np.full(self.n_chains * self.n_draws, 1.0 / (self.n_chains * self.n_draws))
        logs = self.log_weight.ravel()
        return np.exp(logs - log_sum_exp(logs))

    def mean(self, name: str) -> Array:
        """Return the mean of a quantity."""
        return np.asarray(np.tensordot(self.weight, self.pooled(name), axes=1))

    def std(self, name: str) -> Array:
        """Return the standard deviation of a quantity, with n - 1 where draws count alike."""
        spread = np.tensordot(self.weight, (self.pooled(name) - self.mean(name)) ** 2, axes=1)
        n = self.n_chains * self.n_draws if self.log_weight is None else self._worth
        return np.asarray(np.sqrt(spread * n / (n - 1.0))) if n > 1 else 0.0 * spread

    def quantile(self, name: str, share: ArrayLike) -> Array:
        """Return quantiles of a quantity, one for each share, first axis those of ``share``."""
        x = self.pooled(name)
        if self.log_weight is None:
            return np.asarray(np.quantile(x, as_float(share), axis=0))
        return np.asarray(
            np.quantile(x, as_float(share), axis=0, weights=self.weight, method="inverted_cdf")
        )

    def r_hat(self, name: str) -> Array:
        """Return R-hat, rank-normalised and split; NaN where draws have weights.

        Above 1.01 chains are not yet of one distribution.
        """
        x = self[name]
        return (
            markov_chain.r_hat(x) if self.log_weight is None else np.full(x.shape[2:], np.nan)
        )

    def effective_draws(self, name: str) -> Array:
        """Return how many independent draws those of the bulk are worth."""
        if self.log_weight is None:
            return markov_chain.effective_draws(self[name])
        return np.full(self[name].shape[2:], self._worth)

    def tail_effective_draws(self, name: str) -> Array:
        """Return how many independent draws those of the tails are worth, the fewer of two."""
        if self.log_weight is None:
            return markov_chain.tail_effective_draws(self[name])
        return np.full(self[name].shape[2:], self._worth)

    def mean_error(self, name: str) -> Array:
        """Return the Monte Carlo standard error of the mean."""
        if self.log_weight is None:
            return markov_chain.mean_error(self[name])
        shift = self.pooled(name) - self.mean(name)
        return np.asarray(np.sqrt(np.tensordot(self.weight**2, shift**2, axes=1)))

    def std_error(self, name: str) -> Array:
        """Return the Monte Carlo standard error of the standard deviation."""
        if self.log_weight is None:
            return markov_chain.std_error(self[name])
        squares = (self.pooled(name) - self.mean(name)) ** 2
        variance = np.tensordot(self.weight, squares, axes=1)
        spread = np.tensordot(self.weight**2, (squares - variance) ** 2, axes=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(spread / variance) / 2.0)

    def summary(self, coverage: float = 0.9) -> pd.DataFrame:
        """Return a table: mean, spread, central interval, and how well each is known.

        Parameters
        ----------
        coverage
            Probability of the interval from ``low`` to ``high``.
        """
        ends = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]
        parts = [self._rows(name, ends) for name in self.values]
        return pd.concat(parts) if parts else pd.DataFrame()

    def to_arviz(self) -> Any:
        """Return what ArviZ reads: its ``InferenceData``, or a ``DataTree`` from version 1 on.

        Raises
        ------
        ValueError
            If draws have weights, for which ArviZ has no place.
        """
        if self.log_weight is not None:
            raise ValueError(
                "draws must count alike to be handed to ArviZ; found weights. Take "
                "resampled(n, rng) first."
            )
        arviz = import_module("arviz")
        values = {name: np.asarray(x) for name, x in self.values.items()}
        is_new = int(arviz.__version__.split(".")[0]) >= 1
        return arviz.from_dict({"posterior": values}) if is_new else arviz.from_dict(values)

    def resampled(self, n: int, rng: np.random.Generator) -> Draws:
        """Return one chain of ``n`` draws that count alike, picked by their weights."""
        rows = rng.choice(len(self.weight), size=n, p=self.weight)
        return Draws({name: self.pooled(name)[rows][None] for name in self.values})

    def __repr__(self) -> str:
        shown = ", ".join(
            name + (str(list(x.shape[2:])) if x.ndim > 2 else "")
            for name, x in self.values.items()
        )
        weighted = "" if self.log_weight is None else ", weighted"
        chains = "1 chain" if self.n_chains == 1 else f"{self.n_chains} chains"
        return f"Draws({shown}: {chains} of {self.n_draws}{weighted})"

    def _repr_html_(self) -> str:
        return str(self.summary().to_html(float_format="{:.4g}".format))

    @property
    def _shape(self) -> tuple[int, ...]:
        return next(iter(self.values.values())).shape[:2]

    @property
    def _worth(self) -> float:
        """Draws that count alike and would be worth as much, by Kish's formula."""
        return float(1.0 / (self.weight**2).sum())

    def _rows(self, name: str, ends: list[float]) -> pd.DataFrame:
        low, high = self.quantile(name, ends)
        columns = {
            "mean": self.mean(name),
            "std": self.std(name),
            "low": low,
            "high": high,
            "mean_error": self.mean_error(name),
            "std_error": self.std_error(name),
            "effective_draws": self.effective_draws(name),
            "tail_effective_draws": self.tail_effective_draws(name),
            "r_hat": self.r_hat(name),
        }
        places = np.ndindex(self[name].shape[2:])
        labels = [name + (str(list(place)) if place else "") for place in places]
        return pd.DataFrame({k: np.ravel(v) for k, v in columns.items()}, index=labels)


def _require_axes(values: Mapping[str, Array], log_weight: Array | None) -> None:
    shapes = {name: np.shape(x) for name, x in values.items()}
    if log_weight is not None:
        shapes["log_weight"] = np.shape(log_weight)
    starts = {shape[:2] for shape in shapes.values()}
    if not values or len(starts) != 1 or len(start := next(iter(starts))) < 2 or 0 in start:
        raise ValueError(
            "values must be arrays that share the axes (n_chains, n_draws), with at least one "
            f"draw; found {shapes or 'none'}. Write x[None] for a single chain."
        )
    if log_weight is not None and not np.isfinite(log_weight.max()):
        raise ValueError(
            "log_weight must be finite for some draw; found "
            f"{float(log_weight.max())!r} as the largest. Draw more."
        )
