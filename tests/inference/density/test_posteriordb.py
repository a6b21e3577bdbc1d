"""NUTS against reference posteriors of posteriordb, which are 10,000 draws of Stan."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from credo.inference import LogDensity, NoUTurnSampling, Parameters, run
from credo.numerics.special.bijection import Interval, Ordered, positive, real

FOLDER = Path(__file__).parent / "posteriordb"
REFERENCE = json.loads((FOLDER / "reference.json").read_text())
N_REFERENCE = 10_000


def table(name):
    """Return the data of a posterior as arrays by name."""
    content = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    return {key: np.asarray(x, dtype=float) for key, x in content.items()}


def regression(X, y, slope_variance=np.inf, noise=None):
    """Return ``y ~ N(X beta, sigma)``; ``noise`` gives log prior and slope of sigma."""

    def density(values):
        beta, sigma = values["beta"], values["sigma"]
        rest = y - X @ beta
        square = rest @ rest / sigma**2
        log_prior, slope = (0.0, 0.0) if noise is None else noise(sigma)
        value = -0.5 * square - len(y) * np.log(sigma) + log_prior
        value -= 0.5 * beta @ beta / slope_variance
        by_beta = X.T @ rest / sigma**2 - beta / slope_variance
        return value, {"beta": by_beta, "sigma": (square - len(y)) / sigma + slope}

    return LogDensity(Parameters({"beta": real(X.shape[1]), "sigma": positive()}), density)


def half_cauchy(sigma, scale=2.5):
    return -np.log1p((sigma / scale) ** 2), -2.0 * sigma / (scale**2 + sigma**2)


def half_normal(sigma, scale=10.0):
    return -0.5 * (sigma / scale) ** 2, -sigma / scale**2


def with_constant(*columns):
    return np.column_stack([np.ones(len(columns[0])), *columns])


def kidiq():
    data = table("kidiq")
    return regression(with_constant(data["mom_iq"]), data["kid_score"], noise=half_cauchy)


def earnings():
    data = table("earnings")
    return regression(with_constant(data["height"]), np.log(data["earn"]))


def mesquite():
    data = table("mesquite")
    names = ("diam1", "diam2", "canopy_height", "total_height", "density")
    columns = [np.log(data[name]) for name in names]
    return regression(with_constant(*columns, data["group"]), np.log(data["weight"]))


def nes1972():
    data = table("nes1972")
    age = data["age_discrete"]
    columns = (
        *(data["real_ideo"], data["race_adj"], age == 2, age == 3, age == 4),
        *(data["educ1"], data["gender"], data["income"]),
    )
    return regression(with_constant(*columns), data["partyid7"])


def sblrc():
    data = table("sblrc")
    return regression(data["X"], data["y"], 100.0, half_normal)


def ark():
    data = table("arK")
    y, k = data["y"], int(data["K"])
    lags = [y[k - lag : len(y) - lag] for lag in range(1, k + 1)]
    return regression(with_constant(*lags), y[k:], 100.0, half_cauchy)


def eight_schools():
    data = table("eight_schools")
    y, scale = data["y"], data["sigma"]

    def density(values):
        mu, tau, eta = values["mu"], values["tau"], values["eta"]
        rest = (y - mu - tau * eta) / scale**2
        value = -0.5 * (rest**2 * scale**2).sum() - 0.5 * eta @ eta - 0.02 * mu**2
        slopes = {
            "mu": rest.sum() - 0.04 * mu,
            "tau": rest @ eta - 2.0 * tau / (25.0 + tau**2),
            "eta": tau * rest - eta,
        }
        return value - np.log1p(tau**2 / 25.0), slopes

    supports = {"mu": real(), "tau": positive(), "eta": real(8)}
    return LogDensity(Parameters(supports), density)


def wells():
    data = table("wells")
    X = with_constant(data["dist"] / 100.0, data["arsenic"])
    y = data["switched"]

    def density(values):
        score = X @ values["beta"]
        value = y @ score - np.logaddexp(0.0, score).sum()
        return value, {"beta": X.T @ (y - special.expit(score))}

    return LogDensity(Parameters({"beta": real(3)}), density)


def low_dim_gauss_mix():
    y = table("low_dim_gauss_mix")["y"]

    def density(values):
        mu, sigma, theta = values["mu"], values["sigma"], float(values["theta"])
        share = np.array([theta, 1.0 - theta])
        rest = (y[:, None] - mu) / sigma
        logs = np.log(share) - np.log(sigma) - 0.5 * rest**2
        total = np.logaddexp(logs[:, 0], logs[:, 1])
        weight = np.exp(logs - total[:, None])
        value = total.sum() - (mu @ mu + sigma @ sigma) / 8.0 + 4.0 * np.log(share).sum()
        parts = weight.sum(axis=0)
        slopes = {
            "mu": (weight * rest / sigma).sum(axis=0) - mu / 4.0,
            "sigma": (weight * (rest**2 - 1.0) / sigma).sum(axis=0) - sigma / 4.0,
            "theta": (parts[0] + 4.0) / theta - (parts[1] + 4.0) / (1.0 - theta),
        }
        return value, slopes

    supports = {"mu": Ordered(2), "sigma": positive(2), "theta": Interval(0.0, 1.0)}
    return LogDensity(Parameters(supports), density)


def as_named(name, draws):
    """Return draws by the names that the reference uses."""
    values = {key: draws[key] for key in draws}
    if name == "eight_schools":
        values["theta"] = values["mu"][..., None] + values["tau"][..., None] * values["eta"]
    if name in ("arK", "wells"):
        values["alpha"], values["beta"] = values["beta"][..., 0], values["beta"][..., 1:]
    return {
        label: values[label.split("[")[0]][
            (..., int(label.split("[")[1][:-1]) - 1) if "[" in label else ...
        ]
        for label in REFERENCE[name]
    }


QUICK = {
    "eight_schools": eight_schools,
    "kidiq": kidiq,
    "arK": ark,
    "mesquite": mesquite,
}
SLOW = {
    "earnings": earnings,
    "sblrc": sblrc,
    "nes1972": nes1972,
    "wells": wells,
    "low_dim_gauss_mix": low_dim_gauss_mix,
}


def agree(name, problem):
    engine = NoUTurnSampling(metric="dense", acceptance=0.9)
    found = run(engine, problem, np.random.default_rng(14), chains=4)
    assert found.r_hat < 1.01
    for label, draws in as_named(name, found.posterior).items():
        mean, std = REFERENCE[name][label]
        one = type(found.posterior)({"x": draws})
        error = np.hypot(one.mean_error("x"), std / np.sqrt(N_REFERENCE))
        assert abs(one.mean("x") - mean) < 4.0 * error, label
        shift = (draws - draws.mean()) / draws.std()
        # Of independent draws the error of a spread follows from their kurtosis.
        reference = std * np.sqrt(((shift**4).mean() - 1.0) / (4.0 * N_REFERENCE))
        assert abs(one.std("x") - std) < 4.0 * np.hypot(one.std_error("x"), reference), label


@pytest.mark.parametrize("name", QUICK)
def test_means_and_spreads_are_those_of_the_reference(name):
    agree(name, QUICK[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_means_and_spreads_of_larger_data_are_those_of_the_reference(name):
    agree(name, SLOW[name]())
