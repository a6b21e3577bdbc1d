"""Draws from a posterior: named arrays with chains and draws as axes, and what they are worth.

Draws of one weight come from Markov chains and count by their autocorrelation; draws with
weights come from importance sampling, are independent, and count by how even the weights are.

Convergence of Markov chains: R-hat, effective sample size, Monte Carlo standard error.
Rank-normalised and split, as Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021) define
them: each chain is cut in two, so that a drift shows as a difference of halves, and values are
replaced by normal scores of their ranks, so that nothing needs a finite variance.
Autocorrelations are cut off by Geyer's initial monotone sequence.

Arrays have axes (chains, draws, ...); what comes back has the axes that are left. A draw that
is NaN makes its result NaN, and so do fewer than four draws; an infinite one has a rank, but no
mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import fft, special

from credo.numerics.array import Array, as_float
from credo.numerics.form import Form
from credo.numerics.special.log_domain import log_sum_exp

__all__ = [
    "FEWEST_DRAWS",
    "Draws",
    "autocorrelation",
    "effective_draws",
    "mean_error",
    "quantile_error",
    "r_hat",
    "std_error",
    "tail_effective_draws",
    "worth_and_ratio",
]


Places = NDArray[np.intp]

FEWEST_DRAWS = 4
"""Draws of a chain below which its halves say nothing."""

SHORT_MEMORY = 40
"""Pairs of autocorrelations in which those of most chains end."""

TAILS = (0.05, 0.95)
"""Quantiles whose effective draws are those of the tails."""

# Blom's offset makes normal scores of ranks nearly unbiased.
_OFFSET = 0.375
_CONSTANT = float(np.finfo(float).resolution)
_ROUNDING = 4.0 * float(np.finfo(float).eps)
_ONE_ERROR = special.ndtr(np.array([-1.0, 1.0]))


def r_hat(draws: ArrayLike) -> Array:
    """Return how much wider all chains together are than each alone; one if they agree.

    The larger of the values for normal scores, and for scores of distances from the median,
    which sees chains of different spread. A single chain is compared by its halves. NaN where
    all draws are equal.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chains = rng.normal(size=(4, 1000))
    >>> bool(r_hat(chains) < 1.01), bool(r_hat(chains + [[0], [0], [0], [1]]) > 1.1)
    (True, True)
    """
    x = _checked(draws)
    scores, folded = _scores_and_folded(_split(x))
    return _known(np.fmax(_spread_ratio(scores), _spread_ratio(folded)), x)


def worth_and_ratio(draws: ArrayLike) -> tuple[Array, Array]:
    """Return effective draws and R-hat together, which share most of their work.

    Examples
    --------
    >>> chains = np.random.default_rng(0).normal(size=(4, 100, 2))
    >>> worth, ratio = worth_and_ratio(chains)
    >>> bool(np.all(worth == effective_draws(chains)) and np.all(ratio == r_hat(chains)))
    True
    """
    x = _checked(draws)
    scores, folded = _scores_and_folded(_split(x))
    ratio = np.fmax(_spread_ratio(scores), _spread_ratio(folded))
    return _known(_effective(scores), x), _known(ratio, x)


def effective_draws(draws: ArrayLike, *, is_ranked: bool = True) -> Array:
    """Return how many independent draws a mean over these draws is worth.

    Parameters
    ----------
    is_ranked
        Whether normal scores take the place of values: the effective number for the bulk of
        the distribution. If not, that of the mean of the values themselves.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> slow = np.repeat(rng.normal(size=(4, 100)), 10, axis=1)
    >>> bool(300 < effective_draws(slow) < 500)
    True
    """
    x = _checked(draws)
    halves = _split(x)
    return _known(_effective(_scores(halves) if is_ranked else _unitless(halves)), x)


def tail_effective_draws(draws: ArrayLike) -> Array:
    """Return the lesser of the effective draws of the 5 % and the 95 % quantile."""
    x = _checked(draws)
    return np.minimum(*(_quantile_effective(x, share) for share in TAILS))


def mean_error(draws: ArrayLike) -> Array:
    """Return the Monte Carlo standard error of the mean."""
    x = _checked(draws)
    if x.shape[0] * x.shape[1] < 2:
        return np.full(x.shape[2:], np.nan)
    with np.errstate(invalid="ignore"):
        spread = x.std(axis=(0, 1), ddof=1)
        return np.asarray(spread / np.sqrt(effective_draws(x, is_ranked=False)))


def std_error(draws: ArrayLike) -> Array:
    """Return the Monte Carlo standard error of the standard deviation; NaN if that is zero.

    By the effective number of the squared deviations, which is not that of the draws: chains
    that jump from side to side know their mean well, and their spread no better than others.
    """
    x = _checked(draws)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = x - x.mean(axis=(0, 1))
        # Fourth powers stay within the range of numbers whatever the unit is.
        unit = np.abs(shift).max(axis=(0, 1))
        squares = (shift / unit) ** 2
        variance = squares.mean(axis=(0, 1))
        worth = effective_draws(squares, is_ranked=False)
        spread = ((squares**2).mean(axis=(0, 1)) - variance**2) / worth
        return np.asarray(0.5 * unit * np.sqrt(spread / variance))


def quantile_error(draws: ArrayLike, share: float) -> Array:
    """Return half the distance of the draws one standard error beside a quantile.

    Of the quantile itself the error depends on the density there; the share of draws below it
    has a beta distribution, whose central two thirds are read off the sorted draws.
    """
    x = _checked(draws)
    worth = _quantile_effective(x, share)
    n = x.shape[0] * x.shape[1]
    ordered = np.sort(x.reshape(n, *x.shape[2:]), axis=0)
    ends = special.betaincinv(
        worth * share + 1.0,
        worth * (1.0 - share) + 1.0,
        _ONE_ERROR.reshape(2, *([1] * worth.ndim)),
    )
    place = np.where(np.isnan(ends), 0.0, ends * n - 1.0)
    low = np.floor(np.maximum(place[0], 0.0)).astype(np.intp)
    high = np.ceil(np.minimum(place[1], n - 1)).astype(np.intp)
    values = [np.take_along_axis(ordered, at[None], axis=0)[0] for at in (low, high)]
    with np.errstate(invalid="ignore"):
        return _known(0.5 * (values[1] - values[0]), x)


def _checked(draws: ArrayLike) -> Array:
    x = as_float(draws)
    if x.ndim < 2:
        raise ValueError(
            f"draws must have axes (chains, draws, ...); found the shape {x.shape}. Write "
            "draws[None] for a single chain."
        )
    return x


def _known(found: Array, x: Array) -> Array:
    """Return what was found, NaN where a draw is NaN or draws are too few."""
    is_known = ~np.isnan(x).any(axis=(0, 1)) & (x.shape[1] >= FEWEST_DRAWS)
    return np.where(is_known, found, np.nan)


def _split(x: Array) -> Array:
    """Return the halves of each chain as chains of their own; a middle draw is left out.

    A single draw, of which nothing is known, is both.
    """
    half = max(x.shape[1] // 2, 1)
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def _scores(x: Array) -> Array:
    """Return normal scores of the ranks of all draws, equal ones sharing their mean rank."""
    place, ordered = _sorted_columns(x)
    return _scores_at(place, ordered, x.shape)


def _scores_and_folded(x: Array) -> tuple[Array, Array]:
    """Return normal scores of draws, and those of their distances from the median."""
    place, ordered = _sorted_columns(x)
    n = ordered.shape[1]
    with np.errstate(invalid="ignore"):
        median = 0.5 * (ordered[:, (n - 1) // 2] + ordered[:, n // 2])
        distance = np.abs(ordered - median[:, None])
    # In this order they fall and then rise, two runs that a stable sort only has to merge.
    again = _places(np.argsort(distance, axis=1, kind="stable"))
    folded = _scores_at(np.take(place, again), np.take(distance, again), x.shape)
    return _scores_at(place, ordered, x.shape), folded


def _sorted_columns(x: Array) -> tuple[Places, Array]:
    """Return all draws of each quantity in order, shape (d, n), and where each stood."""
    columns = np.ascontiguousarray(x.reshape(x.shape[0] * x.shape[1], -1).T)
    place = _places(np.argsort(columns, axis=1))
    return place, np.take(columns, place)


def _places(order: Places) -> Places:
    """Return places in all rows together of those in each row."""
    d, n = order.shape
    return np.asarray(order + n * np.arange(d)[:, None])


def _scores_at(place: Places, ordered: Array, shape: tuple[int, ...]) -> Array:
    """Return normal scores of rows that rise, at the places where their entries stood."""
    d, n = ordered.shape
    found = np.empty((d, n))
    np.put(found, place, _normal_score(np.arange(1.0, n + 1.0), n))
    row, column = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
    if len(row):
        # Entries that equal the next one, by runs, each of which has one entry more.
        first = row * n + column
        begins = np.flatnonzero(np.diff(first, prepend=-2) != 1)
        length = np.diff(begins, append=len(first))
        score = _normal_score(column[begins] + 1.0 + 0.5 * length, n)
        where = np.take(place, first), np.take(place, first[begins] + length)
        np.put(found, where[0], np.repeat(score, length))
        np.put(found, where[1], score)
    return found.T.reshape(shape)


def _normal_score(rank: Array, n: int) -> Array:
    return np.asarray(special.ndtri((rank - _OFFSET) / (n - 2.0 * _OFFSET + 1.0)))


def _unitless(x: Array) -> Array:
    """Return deviations from the mean in units of the largest, whose squares are numbers."""
    with np.errstate(invalid="ignore"):
        shift = x - x.mean(axis=(0, 1))
        unit, size = (np.abs(part).max(axis=(0, 1), initial=0.0) for part in (shift, x))
        is_constant = (unit <= _ROUNDING * size) & np.isfinite(size)
        return np.where(is_constant, 0.0, shift / np.where(is_constant, 1.0, unit))


def _spread_ratio(x: Array) -> Array:
    n = x.shape[1]
    if n < 2:
        return np.full(x.shape[2:], np.nan)
    between = n * x.mean(axis=1).var(axis=0, ddof=1)
    within = x.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt((between / within + n - 1.0) / n))


def _quantile_effective(x: Array, share: float) -> Array:
    with np.errstate(invalid="ignore"):
        is_below = x <= np.quantile(x, share, axis=(0, 1))
    return _known(_effective(_split(is_below.astype(np.float64))), x)


def _effective(x: Array) -> Array:
    """Return the effective number of draws by Geyer's initial monotone sequence."""
    n_chains, n = x.shape[:2]
    if n < 2:
        return np.full(x.shape[2:], np.nan)
    rho = autocorrelation(x)
    # The last pair that may count begins three lags before the end.
    last = max(0, (n - 3) // 2)
    pairs, place, is_end = _pairs(rho, min(SHORT_MEMORY, n // 2), last)
    if not is_end.any(axis=0).all():
        pairs, place, is_end = _pairs(rho, n // 2, last)
    end = is_end.argmax(axis=0)
    summed = np.where(place < end, np.minimum.accumulate(pairs, axis=0), 0.0).sum(axis=0)
    even = np.take_along_axis(rho, 2 * end[None], axis=0)[0]
    pair = np.take_along_axis(pairs, end[None], axis=0)[0]
    rest = np.where((even > 0) | (pair >= 0), even, 0.0)
    time = np.maximum(2.0 * summed + rest - 1.0, 1.0 / np.log10(n_chains * n))
    found = np.where(np.isnan(rho).any(axis=0), np.nan, n_chains * n / time)
    with np.errstate(invalid="ignore"):
        is_constant = np.ptp(x, axis=(0, 1)) < _CONSTANT
    return np.where(is_constant, float(n_chains * n), found)


def _pairs(rho: Array, n: int, last: int) -> tuple[Array, Places, NDArray[np.bool_]]:
    """Return sums of two autocorrelations, their places, and whether each ends a sequence."""
    pairs = rho[: 2 * n].reshape(n, 2, *rho.shape[1:]).sum(axis=1)
    place = np.arange(n).reshape(-1, *([1] * (rho.ndim - 1)))
    return pairs, place, (pairs <= 0) | (place >= last)


def autocorrelation(x: Array) -> Array:
    """Return the autocorrelation at each lag, of chains taken as of one distribution."""
    n_chains, n = x.shape[:2]
    size = fft.next_fast_len(2 * n)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x.mean(axis=1, keepdims=True)
        wave = fft.rfft(x - mean, size, axis=1)
        power = (wave.real**2 + wave.imag**2).mean(axis=0)
        covariance = fft.irfft(power, size, axis=0)[:n] / n
        within = covariance[0] * n / (n - 1.0)
        total = covariance[0].copy()
        if n_chains > 1:
            total += mean[:, 0].var(axis=0, ddof=1)
        rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    return np.asarray(rho)


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

    values: Annotated[Mapping[str, Array], Form()]
    log_weight: Annotated[Array | None, Form("c n", -np.inf)] = None

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

    def covariance(self, *names: str) -> Array:
        """Return the covariance of all numbers of some quantities, shape (d, d).

        With n - 1 where draws count alike. Without names, of all quantities in their order.
        """
        chosen = names or self.names
        n = self.n_chains * self.n_draws
        x = np.concatenate([self.pooled(name).reshape(n, -1) for name in chosen], axis=1)
        shift = x - self.weight @ x
        spread = (shift * self.weight[:, None]).T @ shift
        worth = n if self.log_weight is None else self._worth
        return np.asarray(spread * (worth / (worth - 1.0)) if worth > 1 else 0.0 * spread)

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
        return r_hat(x) if self.log_weight is None else np.full(x.shape[2:], np.nan)

    def effective_draws(self, name: str) -> Array:
        """Return how many independent draws those of the bulk are worth."""
        if self.log_weight is None:
            return effective_draws(self[name])
        return np.full(self[name].shape[2:], self._worth)

    def tail_effective_draws(self, name: str) -> Array:
        """Return how many independent draws those of the tails are worth, the fewer of two."""
        if self.log_weight is None:
            return tail_effective_draws(self[name])
        return np.full(self[name].shape[2:], self._worth)

    def mean_error(self, name: str) -> Array:
        """Return the Monte Carlo standard error of the mean."""
        if self.log_weight is None:
            return mean_error(self[name])
        shift = self.pooled(name) - self.mean(name)
        return np.asarray(np.sqrt(np.tensordot(self.weight**2, shift**2, axes=1)))

    def std_error(self, name: str) -> Array:
        """Return the Monte Carlo standard error of the standard deviation."""
        if self.log_weight is None:
            return std_error(self[name])
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

    def to_arviz(self, facts: Mapping[str, Array] | None = None) -> Any:
        """Return what ArviZ reads: its ``InferenceData``, or a ``DataTree`` from version 1 on.

        Parameters
        ----------
        facts
            What an engine says of each draw, shape (n_chains, n_draws) each, by ArviZ's
            names; they become its ``sample_stats``.

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
        groups = {"posterior": values} | ({"sample_stats": dict(facts)} if facts else {})
        is_new = int(arviz.__version__.split(".")[0]) >= 1
        return arviz.from_dict(groups) if is_new else arviz.from_dict(**groups)

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
        return pd.DataFrame({k: np.ravel(v) for k, v in columns.items()}, self.labels(name))

    def labels(self, name: str) -> list[str]:
        """Return a name for each number of a quantity: ``level``, or ``level[0]``, ..."""
        places = np.ndindex(self[name].shape[2:])
        return [name + (str(list(place)) if place else "") for place in places]


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
