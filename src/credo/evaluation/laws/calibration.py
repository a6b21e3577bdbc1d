"""Simulation-based calibration: engines whose posteriors rank the truth evenly.

Draw a truth from the prior and data from the truth, let an engine solve the problem, and count
how many of ``n_draws`` independent draws from its posterior lie below the truth. If the engine
is right, that rank is uniform on ``0, ..., n_draws``, whatever the problem [talts2018]_.

Three things are tested: the mean of the ranks, which a posterior in the wrong place moves;
their spread, which a posterior of the wrong width changes; and the shape, what mean and spread
leave of Pearson's chi-square in bins that divide the ranks evenly. The three are not correlated
if ranks are uniform, so their smallest p-value, ``p``, stands for all as ``1 - (1 - p)^3``,
which is uniform for an engine that is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.binomial import Binomial
from credo.evaluation.laws.broken import expect
from credo.evaluation.order_test import stated_p
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference
from credo.inference.engine.engine import run as run_engine
from credo.inference.engine.weighted_draws import WeightedDraws
from credo.numerics.array import Array, as_float

__all__ = ["RankCalibration", "check_calibration", "simulated_ranks"]

FEWEST_BINS, MOST_BINS = 5, 20
LEAST_COUNT = 10
"""Ranks expected in a bin, so that chi-square is as good as exact down to one in a thousand."""
LEVEL = 1e-3
"""How often an engine that is right is called wrong, all its quantities together."""

Values = Mapping[str, ArrayLike]
Simulate = Callable[[Generator], tuple[Mapping[str, float], Any]]
Draw = Callable[[Inference, int, Generator], Values]
Derive = Callable[[Any, Mapping[str, Array]], Values]


@dataclass(frozen=True, eq=False)
class RankCalibration:
    """Ranks of true values among draws from the posteriors of their own data.

    Parameters
    ----------
    names
        What was ranked.
    ranks
        Number of draws below the truth, shape (n_simulations, n_quantities).
    n_draws
        Draws of each posterior, so that ranks go from 0 to ``n_draws``. One more than this
        must be divisible by a number of bins from 5 to 20, with ten simulations for each.

    Raises
    ------
    ValueError
        If ranks are no such numbers, or no bins divide them evenly.

    Examples
    --------
    >>> ranks = np.random.default_rng(0).integers(100, size=(500, 1))
    >>> RankCalibration(("slope",), ranks, 99)
    RankCalibration(slope: calibrated, p = 0.2; 500 simulations of 99 draws)
    >>> RankCalibration(("slope",), ranks // 2 + 25, 99).verdict("slope")
    'too wide'
    """

    names: tuple[str, ...]
    ranks: NDArray[np.intp]
    n_draws: int

    def __post_init__(self) -> None:
        ranks = np.asarray(self.ranks)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "ranks", ranks)
        if ranks.ndim != 2 or not 0 < ranks.shape[1] == len(set(self.names)):
            raise ValueError(
                "ranks must have a row for each simulation and a column for each name; found "
                f"shape {ranks.shape} and {len(self.names)} names. Name every column once."
            )
        is_whole = np.issubdtype(ranks.dtype, np.integer)
        if not is_whole or ranks.min(initial=0) < 0 or ranks.max(initial=0) > self.n_draws:
            raise ValueError(
                f"ranks must be whole numbers from 0 to n_draws={self.n_draws}; found "
                f"{ranks.dtype} from {ranks.min(initial=0)} to {ranks.max(initial=0)}. Count "
                "the draws below the truth."
            )
        _bins(self.n_simulations, self.n_draws)

    @property
    def n_simulations(self) -> int:
        """Number of simulations."""
        return len(self.ranks)

    @property
    def n_bins(self) -> int:
        """Number of bins, each of as many ranks."""
        return _bins(self.n_simulations, self.n_draws)

    def counts(self, name: str) -> NDArray[np.intp]:
        """Return how many ranks of a quantity lie in each bin, shape (n_bins,)."""
        return np.asarray(self._counts[self._place(name)])

    def band(self, coverage: float = 0.95) -> tuple[float, float]:
        """Return the counts between which such a share of bins lies if the engine is right."""
        count = Binomial(self.n_simulations, 1.0 / self.n_bins)
        low, high = count.quantile([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
        return float(low), float(high)

    def p_value(self, name: str) -> float:
        """Return how probable ranks as uneven as these are; uniform if the engine is right."""
        return float(self._p_values[self._place(name)])

    def verdict(self, name: str, level: float = LEVEL) -> str:
        """Return what is wrong with the posteriors of a quantity, or "calibrated".

        Parameters
        ----------
        level
            Probability with which anything is called wrong of an engine that is right, which
            is shared among the quantities (Bonferroni).

        Returns
        -------
        verdict
            "calibrated", "too low", "too high", "too narrow", "too wide" or "misshapen".
        """
        least = level / len(self.names)
        if self.p_value(name) >= least:
            return "calibrated"
        place = self._place(name)
        # As shares of the largest possible, for ranks that are all at one end have both.
        size = self._contrasts[place] / _contrasts_of(self.n_draws + 1)[-1]
        words = (("too high", "too low"), ("too wide", "too narrow"))
        for part in np.argsort(-np.abs(size).round(9), kind="stable"):
            if _of_three(self._parts[place, part]) < least:
                return words[part][int(size[part] > 0)]
        return "misshapen"

    def is_calibrated(self, level: float = LEVEL) -> bool:
        """Return whether ranks of all quantities may be uniform."""
        return all(self.verdict(name, level) == "calibrated" for name in self.names)

    @property
    def worst(self) -> str:
        """Name of the quantity whose ranks are the most uneven."""
        return self.names[int(self._p_values.argmin())]

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """Return a table with a row for each quantity.

        ``mean`` and ``spread`` are those of the ranks divided by what they should be, 1 if
        right: a mean above 1 says that posteriors are too low, a spread above 1 that they are
        too narrow. The p-values of both and of the shape make up ``p_value``.
        """
        center = 0.5 * self.n_draws
        scale = np.sqrt(self.n_draws * (self.n_draws + 2) / 12.0)
        shift, width, shape = self._parts.T
        columns = {
            "mean": self.ranks.mean(axis=0) / center,
            "spread": np.sqrt(((self.ranks - center) ** 2).mean(axis=0)) / scale,
            "p_mean": shift,
            "p_spread": width,
            "p_shape": shape,
            "p_value": self._p_values,
            "verdict": [self.verdict(name, level) for name in self.names],
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="quantity"))

    def __repr__(self) -> str:
        said = [f"{n}: {self.verdict(n)}, {stated_p(self.p_value(n), 2)}" for n in self.names]
        return (
            f"RankCalibration({'; '.join(said)}; {self.n_simulations} simulations of "
            f"{self.n_draws} draws)"
        )

    def _repr_html_(self) -> str:
        return str(self.summary().to_html(float_format="{:.3g}".format))

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise KeyError(
                f"name must be one of {list(self.names)}; found {name!r}. Read names."
            )
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def _counts(self) -> NDArray[np.intp]:
        """Counts of ranks, shape (n_quantities, n_bins)."""
        place = self.ranks.T // ((self.n_draws + 1) // self.n_bins)
        return np.array([np.bincount(row, minlength=self.n_bins) for row in place])

    @cached_property
    def _contrasts(self) -> Array:
        """Mean and spread of the ranks in standard errors, shape (n_quantities, 2)."""
        each = _contrasts_of(self.n_draws + 1)[self.ranks]
        return as_float(each.sum(axis=0) / np.sqrt(self.n_simulations))

    @cached_property
    def _parts(self) -> Array:
        """P-values of mean, spread and shape, shape (n_quantities, 3)."""
        n, n_bins = self.n_simulations, self.n_bins
        chi_square = ((self._counts - n / n_bins) ** 2).sum(axis=1) / (n / n_bins)
        explained = ((self._counts @ _contrasts_of(n_bins)) ** 2).sum(axis=1) / n
        shape = special.chdtrc(n_bins - 3, np.maximum(chi_square - explained, 0.0))
        return np.column_stack([2.0 * special.ndtr(-np.abs(self._contrasts)), shape])

    @cached_property
    def _p_values(self) -> Array:
        return as_float(_of_three(self._parts.min(axis=1)))


def check_calibration(
    engine: Any,
    simulate: Simulate,
    draw: Draw | None = None,
    n_simulations: int = 200,
    n_draws: int = 99,
    rng: Generator | None = None,
    *,
    derive: Derive | None = None,
) -> RankCalibration:
    """Check that an engine ranks the truth evenly; return the ranks if it does.

    One engine in a thousand that is right is called wrong.

    Parameters
    ----------
    engine, simulate, draw, n_simulations, n_draws, derive
        As in `simulated_ranks`.
    rng
        Where randomness comes from; the same numbers each time if None.

    Raises
    ------
    LawBroken
        If the ranks of a quantity are not uniform, or a draw is NaN.

    Examples
    --------
    >>> from credo.inference import ConditionalProblem, LikelihoodWeighting
    >>> from credo.graphs import LinearGaussian, Variable
    >>> x, y = Variable("x"), Variable("y")
    >>> nodes = [LinearGaussian().bind(x, ()), LinearGaussian(0.0, {"x": 2.0}).bind(y, (x,))]
    >>> def simulate(rng):
    ...     day = ConditionalProblem(nodes).draw(1, rng).columns
    ...     truth = {"x": float(day["x"][0])}
    ...     return truth, ConditionalProblem(nodes, given={"y": float(day["y"][0])})
    >>> engine = LikelihoodWeighting(block_size=1000, tolerance=0.02)
    >>> check_calibration(engine, simulate, n_simulations=50, n_draws=19).verdict("x")
    'calibrated'
    """
    stream = np.random.default_rng(0) if rng is None else rng
    found = simulated_ranks(
        engine, simulate, draw, n_simulations, n_draws, stream, derive=derive
    )
    wrong = [name for name in found.names if found.verdict(name) != "calibrated"]
    said = [f"{n} {found.verdict(n)} ({stated_p(found.p_value(n), 2)})" for n in wrong]
    expected = f"p-values of at least {LEVEL / len(found.names):.2g}"
    stated = f"posteriors of {', '.join(said)} in {found.n_simulations} simulations"
    expect("posteriors rank the truth evenly", not wrong, expected, stated)
    return found


def simulated_ranks(
    engine: Any,
    simulate: Simulate,
    draw: Draw | None,
    n_simulations: int,
    n_draws: int,
    rng: Generator,
    *,
    derive: Derive | None = None,
) -> RankCalibration:
    """Return the ranks of simulated truths among draws from the posteriors of an engine.

    Parameters
    ----------
    engine
        What `credo.inference.run` runs.
    simulate
        Called with a Generator; returns the true values by name, drawn from the prior, and
        the problem that data drawn from them pose.
    draw
        Called with an `Inference`, a number and a Generator; returns so many independent
        draws of each true value, by name. By default those of the posterior: what it
        resamples, or samples in the order of the names. Weighted draws, or those of a chain,
        must be worth many more than ``n_draws``, for some are picked of them.
    n_simulations
        Number of simulations, each with a stream of its own that ``rng`` spawns.
    n_draws
        Draws from each posterior; 19 or 99 divide into bins.
    derive
        Called with a problem and values by name, each of shape (n,); returns more quantities
        to rank, such as the log likelihood. Without one that depends on the data an engine
        that returns the prior is not found out: its ranks are uniform [modrak2022]_.

    Raises
    ------
    ValueError
        If the draws lack a true value, or are not ``n_draws`` numbers.
    LawBroken
        If a draw is NaN.
    """
    _bins(n_simulations, n_draws)
    rows = [
        _ranks(engine, simulate, draw, derive, n_draws, stream)
        for stream in rng.spawn(n_simulations)
    ]
    names = tuple(rows[0])
    return RankCalibration(names, np.array([[row[n] for n in names] for row in rows]), n_draws)


def _ranks(
    engine: Any,
    simulate: Simulate,
    draw: Draw | None,
    derive: Derive | None,
    n: int,
    rng: Generator,
) -> dict[str, int]:
    """Return the ranks of one simulation."""
    true_values, problem = simulate(rng)
    truth = {name: as_float(value).reshape(1) for name, value in true_values.items()}
    inference = run_engine(engine, problem, rng)
    if draw is None:
        drawn = _posterior_draws(inference.posterior, tuple(truth), n, rng)
    else:
        drawn = draw(inference, n, rng)
    draws = _same_names(truth, drawn, n)
    if derive is not None:
        more = {name: as_float(v).reshape(1) for name, v in derive(problem, truth).items()}
        draws |= _same_names(more, derive(problem, draws), n)
        truth |= more
    return {name: _rank(float(truth[name][0]), draws[name], rng) for name in truth}


def _rank(truth: float, draws: Array, rng: Generator) -> int:
    """Return the number of draws below the truth; among equals any place is as likely."""
    n_below, n_equal = int((draws < truth).sum()), int((draws == truth).sum())
    return n_below + int(rng.integers(n_equal + 1)) if n_equal else n_below


def _same_names(truth: Mapping[str, Array], draws: Values, n: int) -> dict[str, Array]:
    """Return the draws of what has a true value."""
    shapes = {name: np.shape(x) for name, x in draws.items()}
    if any(shapes.get(name) != (n,) for name in truth):
        raise ValueError(
            f"draws must be {n} numbers for each of {list(truth)}; found shapes {shapes}. Pass "
            "a draw function that returns them by name."
        )
    found = {name: as_float(draws[name]) for name in truth}
    for name, x in found.items():
        if np.isnan(truth[name]).any():
            raise ValueError(
                f"true values must be numbers; found NaN for {name}. Correct what simulates."
            )
        expect("draws are numbers", not np.isnan(x).any(), "numbers", f"NaN for {name}")
    return found


def _posterior_draws(posterior: Any, names: Sequence[str], n: int, rng: Generator) -> Values:
    """Return draws from a posterior that can give them by itself."""
    if isinstance(posterior, WeightedDraws):
        return posterior.resampled(n, rng)
    if isinstance(posterior, Draws):
        return _labelled(posterior.resampled(n, rng))
    if not hasattr(posterior, "sample"):
        raise ValueError(
            "draw must be given for a posterior that has no draws; found a "
            f"{type(posterior).__name__}. Pass draw(inference, n, rng)."
        )
    columns = as_float(posterior.sample(rng, n)).reshape(n, -1)
    if columns.shape[1] != len(names):
        raise ValueError(
            f"true values must be those that the posterior draws; found {list(names)} and "
            f"draws of {columns.shape[1]} numbers. Pass draw(inference, n, rng)."
        )
    return dict(zip(names, columns.T, strict=True))


def _labelled(draws: Draws) -> dict[str, Array]:
    """Return draws by the labels of their summary: a quantity with axes by its parts."""
    return {
        name + (str(list(place)) if place else ""): draws.pooled(name)[(slice(None), *place)]
        for name in draws
        for place in np.ndindex(draws[name].shape[2:])
    }


def _of_three(p: Any) -> Any:
    """Return ``1 - (1 - p)^3``, the p-value of a smallest of three, also of a tiny one."""
    return p * (3.0 - p * (3.0 - p))


def _contrasts_of(n: int) -> Array:
    """Return place and squared place of 0, ..., n - 1, with mean 0 and variance 1, (n, 2)."""
    place = np.arange(n) - 0.5 * (n - 1)
    contrasts = np.column_stack([place, place**2 - (place**2).mean()])
    return np.asarray(contrasts / contrasts.std(axis=0))


def _bins(n_simulations: int, n_draws: int) -> int:
    """Return the most bins that divide ranks evenly and are full enough."""
    most = min(MOST_BINS, n_simulations // LEAST_COUNT)
    fitting = [b for b in range(FEWEST_BINS, most + 1) if (n_draws + 1) % b == 0]
    if not fitting:
        raise ValueError(
            f"n_draws + 1 must be divisible by a number of bins from {FEWEST_BINS} to "
            f"{MOST_BINS}, with {LEAST_COUNT} simulations for each; found n_draws={n_draws} "
            f"and {n_simulations} simulations. Take 99 draws and 200 simulations."
        )
    return fitting[-1]
