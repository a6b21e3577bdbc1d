"""How far engines are from exact or long-run answers on small models, and what each costs.

::

    python -m benchmarks.engines [MODEL ...] [--store]

Classes are judged by the largest error of a probability, numbers by the largest error of a
mean in posterior standard deviations. Costs are CPU seconds of a second run, after all that is
compiled is compiled. ``--store`` keeps them in ``benchmarks/sets/engines.json``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
from scipy import special

from benchmarks.gp_splits import keep
from credo import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    LogisticRegression,
    StudentTRegression,
)
from credo.features import SquaredExponential
from credo.inference import (
    GaussianVariational,
    LaplaceApproximation,
    LogDensity,
    NoUTurnSampling,
    Parameters,
    run,
)
from credo.numerics.special.bijection import real

__all__ = ["MODELS", "main"]

Answer = Callable[[], np.ndarray]
LONG = NoUTurnSampling(n_draws=10_000, warm_up=1000)


def judged(exact: np.ndarray, unit: np.ndarray, engines: dict[str, Answer]) -> dict[str, Any]:
    """Return error and CPU seconds of each engine."""
    found = {}
    for name, answer in engines.items():
        answer()
        begin = process_time()
        error = float((np.abs(answer() - exact) / unit).max())
        found[name] = [error, process_time() - begin]
    return found


def classes(n_classes: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and classes that softmax scores of their inputs draw."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, d))
    scores = x @ rng.normal(size=(d, n_classes)) * 1.5 + rng.gumbel(size=(n, n_classes))
    return x, scores.argmax(axis=1)


def two_classes() -> dict[str, Any]:
    """Return errors of a weight and an intercept, 15 rows, against a grid."""
    x, y = classes(2, 15, 1)
    w, b = np.meshgrid(np.linspace(-9, 9, 601), np.linspace(-9, 9, 601), indexing="ij")
    middle = x.mean()
    logs = -0.25 * w**2
    for row, label in zip(x[:, 0] - middle, y, strict=True):
        logs = logs + special.log_expit((2 * label - 1) * (w * row + b))
    share = np.exp(logs - special.logsumexp(logs))
    at = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    exact = np.array([(share * special.expit(w * (v - middle) + b)).sum() for v in at])

    def answer(inference: str) -> Answer:
        model = LogisticRegression(inference=inference, weight_precision=0.5, random_state=0)
        return lambda: model.fit(x, y).predict_proba(at[:, None])[:, 1]

    names = ("laplace", "ep", "variational", "nuts")
    return judged(exact, np.ones(5), {name: answer(name) for name in names})


def three_classes() -> dict[str, Any]:
    """Return errors of three classes, 60 rows of 4 columns, against a long run."""
    x, y = classes(3, 60, 4)
    at = 1.5 * x[:20]

    def answer(inference: Any, seed: int = 0) -> Answer:
        model = LogisticRegression(inference=inference, weight_precision=0.5, random_state=seed)
        return lambda: model.fit(x, y).predict_proba(at)

    names = ("laplace", "ep", "variational", "nuts")
    exact = answer(LONG, 1)()
    return judged(exact, np.ones_like(exact), {name: answer(name) for name in names})


def student_t() -> dict[str, Any]:
    """Return errors of three weights with Student-t noise, 20 rows, against a long run."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(20, 3))
    y = x @ [1.0, -1.0, 0.0] + rng.standard_t(2.5, size=20)

    def fitted(inference: Any, seed: int = 0) -> StudentTRegression:
        return StudentTRegression(inference=inference, random_state=seed).fit(x, y)

    exact = fitted(LONG, 1)
    engines = {name: lambda n=name: fitted(n).coef_ for name in ("laplace", "nuts")}
    return judged(exact.coef_, exact.draws_.std("coef"), engines)


def process_classes() -> dict[str, Any]:
    """Return errors of a Gaussian process of two classes, 30 rows, against a long run."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-3.0, 3.0, 30))[:, None]
    sign = np.where(np.sin(2.0 * x[:, 0]) + 0.5 * rng.normal(size=30) > 0, 1.0, -1.0)
    kernel = (9.0 * SquaredExponential(1.0)).hold()
    root = np.linalg.cholesky(kernel(x, x) + 1e-9 * np.eye(30))

    def density(values: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        z = values["z"]
        score = sign * (root @ z)
        slope = root.T @ (sign * special.expit(-score)) - z
        return float(special.log_expit(score).sum() - 0.5 * z @ z), {"z": slope}

    problem = LogDensity(Parameters({"z": real(30)}), density)

    def drawn(engine: Any, seed: int = 0) -> np.ndarray:
        found = run(engine, problem, np.random.default_rng(seed), chains=4).posterior
        return special.expit(found.pooled("z") @ root.T).mean(axis=0)

    def gaussian(engine: Any) -> np.ndarray:
        found = run(engine, problem, np.random.default_rng(0)).posterior
        draws = found.sample(np.random.default_rng(0), 4000)
        return special.expit(draws @ root.T).mean(axis=0)

    def answer(inference: str) -> np.ndarray:
        model = GaussianProcessClassifier(kernel, inference=inference)
        return model.fit(x, sign).predict_proba(x)[:, 1]

    engines: dict[str, Answer] = {
        "laplace": lambda: answer("laplace"),
        "ep": lambda: answer("ep"),
        "variational": lambda: gaussian(GaussianVariational()),
        "nuts": lambda: drawn(NoUTurnSampling()),
    }
    return judged(drawn(NoUTurnSampling(n_draws=5000), 1), np.ones(30), engines)


def process_settings() -> dict[str, Any]:
    """Return errors of predictions of 12 rows, three settings unknown, against a long run."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-2.0, 2.0, 12))[:, None]
    y = np.sin(2.0 * x[:, 0]) + 0.3 * rng.normal(size=12)
    at = np.linspace(-2.5, 2.5, 11)[:, None]

    def fitted(inference: Any, seed: int = 0) -> GaussianProcessRegressor:
        kernel = 1.0 * SquaredExponential(1.0)
        return GaussianProcessRegressor(kernel, inference, random_state=seed).fit(x, y)

    model = fitted(NoUTurnSampling(n_draws=1000, warm_up=300), 1)
    every = model.draws_.pooled("log_parameters")[::2]
    share = np.full(len(every), 1.0 / len(every))
    model.posterior_ = replace(model.posterior_, points=every, weights=share)
    exact = model.predict_dist(at)
    engines: dict[str, Answer] = {
        "laplace": lambda: fitted("map").predict_dist(at).mean(),
        "nuts": lambda: fitted("nuts").predict_dist(at).mean(),
    }
    return judged(exact.mean(), exact.std(), engines)


def schools() -> dict[str, Any]:
    """Return errors of the effects of eight schools, against a sum over their spread."""
    effect = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    error = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    spread = 5.0 * np.tan(0.5 * np.pi * (np.arange(20_000) + 0.5) / 20_000)
    precision = 1.0 / (spread[:, None] ** 2 + error**2)
    level_precision = precision.sum(axis=1) + 1.0 / 25.0
    level = (precision * effect).sum(axis=1) / level_precision
    logs = 0.5 * (np.log(precision).sum(axis=1) - np.log(level_precision))
    logs -= 0.5 * ((precision * effect**2).sum(axis=1) - level_precision * level**2)
    share = np.exp(logs - special.logsumexp(logs))
    shrunk = spread[:, None] ** 2 * precision
    means = shrunk * effect + (1.0 - shrunk) * level[:, None]
    spreads = shrunk * error**2 + (1.0 - shrunk) ** 2 / level_precision[:, None]
    exact = share @ means
    unit = np.sqrt(share @ (spreads + means**2) - exact**2)

    def density(values: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        level, log_spread, z = values["level"], values["log_spread"], values["z"]
        wide = np.exp(log_spread)
        pull = (effect - level - wide * z) / error**2
        ratio = wide**2 / 25.0
        value = -0.5 * (pull**2 @ error**2 + z @ z + level**2 / 25.0)
        value += log_spread - np.log1p(ratio)
        return float(value), {
            "level": pull.sum() - level / 25.0,
            "log_spread": wide * (pull @ z) + 1.0 - 2.0 * ratio / (1.0 + ratio),
            "z": wide * pull - z,
        }

    parameters = Parameters({"level": real(), "log_spread": real(), "z": real(8)})
    problem = LogDensity(parameters, density)

    def effects(values: Any) -> np.ndarray:
        wide = np.exp(values["log_spread"])[..., None]
        return (values["level"][..., None] + wide * values["z"]).reshape(-1, 8).mean(axis=0)

    def gaussian(engine: Any) -> np.ndarray:
        found = run(engine, problem, np.random.default_rng(0)).posterior
        return effects(parameters.constrain(found.sample(np.random.default_rng(0), 20_000)))

    def drawn() -> np.ndarray:
        engine = NoUTurnSampling(acceptance=0.9)
        return effects(run(engine, problem, np.random.default_rng(0), chains=4).posterior)

    engines: dict[str, Answer] = {
        "laplace": lambda: gaussian(LaplaceApproximation()),
        "variational": lambda: gaussian(GaussianVariational()),
        "nuts": drawn,
    }
    return judged(exact, unit, engines)


MODELS: dict[str, tuple[str, str, Callable[[], dict[str, Any]]]] = {
    "logistic, 2 classes": ("grid", "probability", two_classes),
    "logistic, 3 classes": ("long run", "probability", three_classes),
    "Student-t regression": ("long run", "sd", student_t),
    "process, 2 classes": ("long run", "probability", process_classes),
    "process, settings": ("long run", "sd", process_settings),
    "hierarchical normal": ("grid", "sd", schools),
}


def main(arguments: list[str]) -> int:
    """Print a line for each model, and store them if asked."""
    parser = argparse.ArgumentParser(prog="engines", description=__doc__)
    parser.add_argument("models", nargs="*", help="some of the models")
    parser.add_argument("--store", action="store_true", help="store what was found")
    chosen = parser.parse_args(arguments)
    for name in chosen.models or MODELS:
        judge, unit, measure = MODELS[name]
        found = measure()
        print(f"{name}: {found}", flush=True)
        if chosen.store:
            keep("engines", {name: {"judge": judge, "unit": unit, "engines": found}})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
