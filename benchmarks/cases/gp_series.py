"""Gaussian processes of series: log evidence with and without gradient, and a whole fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Case, Contender, Goal
from credo.features.kernels.kernel import Kernel
from credo.features.kernels.stationary import (
    ExponentialKernel,
    Matern32,
    Matern52,
    Periodic,
)
from credo.inference.kernel.exact import ExactProcess
from credo.inference.kernel.process import ProcessData
from credo.inference.kernel.series import SeriesProcess
from credo.models.kernel.gaussian_process_regressor import GaussianProcessRegressor

__all__ = ["CASES"]

SUM = Matern52(500.0) + Matern32(50.0)
SEASON = Matern32(500.0) + ExponentialKernel(2000.0) * Periodic(1.3, 365.0)
SAME_SEASON = Matern32(500.0) + Periodic(1.3, 365.0)


@dataclass(frozen=True, eq=False)
class Series:
    """A year's season with noise, one row a day, and the same at times drawn at random."""

    days: ProcessData
    drawn: ProcessData
    noise: np.ndarray


def series(n: int) -> Series:
    rng = np.random.default_rng(0)
    t = np.arange(float(n))
    y = np.sin(2 * np.pi * t / 365) + 0.7 * rng.normal(size=n)
    ones = np.ones((n, 1))
    drawn = np.sort(rng.uniform(0, n, n))
    return Series(
        ProcessData(t[:, None], y[:, None], ones),
        ProcessData(drawn[:, None], y[:, None], ones),
        np.full(n, 0.5),
    )


def value(kernel: Kernel) -> Contender:
    return Contender(lambda s: SeriesProcess().log_evidence(s.days, kernel, s.noise))


def irregular(kernel: Kernel) -> Contender:
    return Contender(lambda s: SeriesProcess().log_evidence(s.drawn, kernel, s.noise))


def with_gradient(data: Series) -> float:
    return SeriesProcess().evidence(data.days, SUM, data.noise).value


def exact(data: Series) -> float:
    return ExactProcess().log_evidence(data.days, SUM, data.noise)


def exact_with_gradient(data: Series) -> float:
    return ExactProcess().evidence(data.days, SUM, data.noise).value


def fit(data: Series) -> float:
    kernel = 0.5 * Matern52(100.0)
    model = GaussianProcessRegressor(kernel)
    return float(model.fit(data.days.x, data.days.y[:, 0]).log_evidence_)


def log_evidence(data: Series, answer: float) -> float:
    return answer


def data_of(n: int) -> Callable[[], Any]:
    return lambda: series(n)


OWN = {
    "credo": value(SUM),
    "credo, times drawn at random": irregular(SUM),
    "credo, with gradient": Contender(with_gradient),
    "credo, with a season, 19 states": value(SEASON),
    "credo, with a season that stays the same": value(SAME_SEASON),
    "credo, with a season, times drawn at random": irregular(SEASON),
}

CASES = (
    Case(
        name="N=2,000 days, 5 states",
        data=data_of(2_000),
        contenders={
            **OWN,
            "credo, by the matrix": Contender(exact),
            "credo, by the matrix, with gradient": Contender(exact_with_gradient),
        },
        quality={"log evidence": log_evidence},
        goals=(Goal("credo, by the matrix", at_least=20.0),),
    ),
    *(
        Case(
            name=f"N={n:,} days, 5 states",
            data=data_of(n),
            contenders=OWN,
            quality={"log evidence": log_evidence},
        )
        for n in (10_000, 100_000)
    ),
    Case(
        name="N=1,000,000 days, 5 states",
        data=data_of(1_000_000),
        contenders=OWN,
        quality={"log evidence": log_evidence},
        goals=(
            Goal("credo", at_most=2.0, measure="seconds"),
            Goal("credo, with a season, 19 states", at_most=2.0, measure="seconds"),
            Goal("credo, with a season that stays the same", at_most=2.0, measure="seconds"),
        ),
        repeats=3,
    ),
    Case(
        name="N=100,000 days, settings learned",
        data=data_of(100_000),
        contenders={"credo": Contender(fit)},
        quality={"log evidence": log_evidence},
        repeats=1,
    ),
)
