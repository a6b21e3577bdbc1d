"""Gibbs sampling of a 512 x 512 grid of spins with a field at every spin."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from benchmarks.harness import Case, Contender, Goal
from credo.inference.spins.cut import spin_cut
from credo.inference.spins.problem import SpinAssignment, SpinChain
from credo.models.spins.ising_model import IsingModel

__all__ = ["CASES"]

SIZE, N_SWEEPS, COUPLING = 512, 200, 0.4


@dataclass(frozen=True, eq=False)
class Grid:
    """The posterior of a noisy disk, a chain at its start, and the disk."""

    model: IsingModel
    chain: SpinChain
    truth: np.ndarray


def grid() -> Grid:
    rng = np.random.default_rng(0)
    rows, columns = np.indices((SIZE, SIZE)) - SIZE / 2
    truth = np.where(rows**2 + columns**2 < (SIZE / 3) ** 2, 1, -1)
    model = IsingModel((SIZE, SIZE), COUPLING).observe(truth + rng.normal(size=truth.shape))
    return Grid(model, SpinChain.start(model.problem, rng), truth)


def credo(data: Grid) -> np.ndarray:
    return data.chain.moved(data.model.problem, N_SWEEPS).spins(data.model.problem)


@njit(cache=True)
def plain_sweeps(spin: Any, field: Any, n_sweeps: int, rng: Any) -> None:
    """Take checkerboard sweeps as one would first write them, inside a margin of zeros."""
    n, m = field.shape
    for half_sweep in range(2 * n_sweeps):
        for i in range(1, n + 1):
            for j in range(1 + (half_sweep + i) % 2, m + 1, 2):
                s = spin[i - 1, j] + spin[i + 1, j] + spin[i, j - 1] + spin[i, j + 1]
                odds = np.exp(-2.0 * (COUPLING * s + field[i - 1, j - 1]))
                spin[i, j] = 1 if rng.random() * (1.0 + odds) < 1.0 else -1


def plain(data: Grid) -> np.ndarray:
    spin = np.pad(data.chain.spins(data.model.problem).reshape(SIZE, SIZE), 1)
    plain_sweeps(spin, data.model.field, N_SWEEPS, np.random.default_rng(0))
    return spin[1:-1, 1:-1].ravel()


def mean_energy(data: Grid, answer: np.ndarray) -> float:
    return float(-data.model.problem.log_density(answer) / SIZE**2)


def cut(data: Grid) -> SpinAssignment:
    return spin_cut(data.model.problem)


def error_rate(data: Grid, answer: SpinAssignment) -> float:
    return float(np.mean(answer.spins != data.truth.ravel()))


# So many spins per second are promised on two cores.
SECONDS = SIZE**2 * N_SWEEPS / 4e8

CASES = (
    Case(
        name=f"Gibbs, {SIZE} x {SIZE} spins, {N_SWEEPS} sweeps",
        data=grid,
        contenders={"credo": Contender(credo), "plain numba loop": Contender(plain, "numba")},
        quality={"energy per spin": mean_energy},
        goals=(
            Goal("credo", at_most=SECONDS, measure="seconds"),
            Goal("plain numba loop", at_least=2.0),
        ),
    ),
    Case(
        name=f"most probable image by max-flow, {SIZE} x {SIZE}",
        data=grid,
        contenders={"credo": Contender(cut)},
        quality={"error rate": error_rate},
        goals=(Goal("credo", at_most=1.0, measure="seconds"),),
    ),
)
