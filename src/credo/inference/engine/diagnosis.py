"""One verdict on a posterior, with the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.inference.engine.draws import FEWEST_DRAWS, Draws
from credo.numerics.array import Array

__all__ = ["Diagnosis", "diagnose_draws", "is_mixed"]

MOST_R_HAT = 1.01
WORST_R_HAT = 1.1
"""Above this chains are of different distributions, and their mean is that of none."""

FEWEST_EFFECTIVE = 100.0
"""Effective draws for each chain, and at least in all, below which errors are not known."""

LEAST_ENERGY_SHARE = 0.3
MOST_AT_DEPTH = 0.02


@dataclass(frozen=True)
class Diagnosis:
    """Whether a posterior can be relied on.

    Attributes
    ----------
    is_sound
        True if nothing below gives cause for doubt.
    findings
        Sentences on what gives cause for doubt.
    numbers
        The measurements behind the verdict.
    """

    is_sound: bool
    findings: tuple[str, ...]
    numbers: dict[str, float]

    def __str__(self) -> str:
        head = "sound" if self.is_sound else "doubtful"
        figures = ", ".join(f"{name} {value:.3g}" for name, value in self.numbers.items())
        return "\n".join([f"{head}: {figures}", *self.findings])


def diagnose_draws(
    draws: Draws, facts: Mapping[str, Array], max_depth: int | None = None
) -> Diagnosis:
    """Return the verdict on draws of Markov chains.

    Parameters
    ----------
    facts
        What an engine says of each transition, shape (n_chains, n_draws) each: of those that
        follow trajectories ``is_divergent``, ``depth`` and ``energy``.
    max_depth
        Depth at which trees were cut off.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=(4, 500))
    >>> print(diagnose_draws(Draws({"level": level}), {}))
    sound: largest R-hat 1, fewest effective draws 2e+03, fewest in the tails 2.06e+03
    >>> apart = level + np.arange(4.0)[:, None]
    >>> diagnose_draws(Draws({"level": apart}), {}).is_sound
    False
    """
    if draws.n_draws < FEWEST_DRAWS:
        short = (
            f"Chains must have at least {FEWEST_DRAWS} draws to be judged; found "
            f"{draws.n_draws}. Draw more."
        )
        return Diagnosis(False, (short,), {"draws of a chain": float(draws.n_draws)})
    table = draws.summary()
    numbers = {
        "largest R-hat": float(table["r_hat"].max()),
        "fewest effective draws": float(table["effective_draws"].min()),
        "fewest in the tails": float(table["tail_effective_draws"].min()),
    }
    findings = []
    if not numbers["largest R-hat"] <= MOST_R_HAT:
        worst = str(table["r_hat"].fillna(np.inf).idxmax())
        findings.append(
            f"The chains do not agree about {worst}: R-hat must be at most {MOST_R_HAT}. Draw "
            "longer; if that does not help, look at the trace for several modes, which "
            'inference="smc" can join, or for a parameter that the data do not determine.'
        )
    least = FEWEST_EFFECTIVE * draws.n_chains
    few = min(numbers["fewest effective draws"], numbers["fewest in the tails"])
    if not few >= least:
        findings.append(
            f"Draws are worth only {few:.0f} independent ones where {least:.0f} are wanted: "
            "means and quantiles are rough. Draw longer, or use a metric of more directions."
        )
    found, more = _of_trajectories(facts, max_depth)
    findings += found
    return Diagnosis(not findings, tuple(findings), numbers | more)


def is_mixed(draws: Draws) -> dict[str, NDArray[np.bool_]]:
    """Return for each quantity whether its chains tell of one distribution, (...) each."""
    return {
        name: ~(draws.r_hat(name) > WORST_R_HAT) & (draws.effective_draws(name) >= 4.0)
        for name in draws
    }


def _of_trajectories(
    facts: Mapping[str, Array], max_depth: int | None
) -> tuple[list[str], dict[str, float]]:
    """Return findings and numbers of engines that follow trajectories."""
    findings: list[str] = []
    numbers: dict[str, float] = {}
    if "is_divergent" in facts:
        n_divergent = int(facts["is_divergent"].sum())
        numbers["divergences"] = float(n_divergent)
        if n_divergent:
            findings.append(
                f"{n_divergent} trajectories diverged: the density bends more sharply than "
                "steps can follow, and what lies there is missed. Raise acceptance to 0.95 or "
                "0.99, or write the parameters so that none sets the scale of others."
            )
    if "depth" in facts and max_depth is not None:
        share = float((facts["depth"] >= max_depth).mean())
        numbers["share at the largest depth"] = share
        if share > MOST_AT_DEPTH:
            findings.append(
                f"{share:.0%} of trajectories were cut off at depth {max_depth}: the density "
                'is long and narrow. Use metric="low_rank" or "dense", or scale the parameters.'
            )
    if "energy" in facts:
        least = float(energy_share(facts["energy"]).min())
        numbers["least energy share"] = least
        if least < LEAST_ENERGY_SHARE:
            findings.append(
                f"Energies move by too little (BFMI {least:.2f}, wanted {LEAST_ENERGY_SHARE}): "
                "tails are reached slowly. Write the parameters so that none sets the scale of "
                "others, or draw longer."
            )
    return findings, numbers


def energy_share(energy: Array) -> Array:
    """Return the Bayesian fraction of missing information of each chain [betancourt2016]_.

    Mean square change of the energy from one draw to the next over its variance.
    """
    variance = energy.var(axis=1)
    change = (np.diff(energy, axis=1) ** 2).sum(axis=1) / energy.shape[1]
    return np.where(variance > 0, change / np.where(variance > 0, variance, 1.0), np.nan)
