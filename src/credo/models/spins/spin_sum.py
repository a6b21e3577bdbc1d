"""How the sum over all spins is found: exactly where that fits, by annealing elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from credo.inference.engine.account import ApproximationWarning
from credo.inference.engine.error import InferenceTooLarge, require_memory
from credo.inference.spins.annealing import IsingAnnealing
from credo.inference.spins.exact import SpinElimination
from credo.inference.spins.problem import IsingProblem
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.value.limits import Limits
from credo.models.spins.spin_factor import spin_factors
from credo.models.spins.spin_structure import SpinStructure, is_certain, places_of
from credo.numerics.memory import USUAL_BYTES
from credo.numerics.warning import warn_caller

__all__ = ["SpinSum"]

# Up to so many cells exact sums take no longer than a good number of sweeps.
_QUICK_CELLS = 1 << 22
_QUICK_TABLE = 1 << 16
_LARGEST_TABLE = 1 << 24
_LARGEST_STORE = 1 << 26

_ADVICE = (
    'Allow more with model.within(memory="16GB"); or use "gibbs" for means and draws, '
    '"max_flow" or "icm" for the most probable spins, and "annealing" for log Z.'
)


@dataclass(frozen=True, eq=False)
class SpinSum:
    """The engines that sum over spins, and the rule that chooses among them.

    Attributes
    ----------
    names
        Names of the spins.
    structure, problem
        Which spins are neighbors, and how strongly; the density that is summed.
    limits
        What exact sums may cost.
    """

    names: tuple[str, ...]
    structure: SpinStructure
    problem: IsingProblem
    limits: Limits

    def log_partition(self, given: Any, method: str | IsingAnnealing) -> Any:
        """Return log Z of the spins that are not given, by a method of `IsingModel`."""
        if method == "annealing":
            method = IsingAnnealing()
        if isinstance(method, IsingAnnealing):
            return method.log_normalizer(self._left(given)).value
        if method not in ("auto", "exact"):
            return self.field.log_partition(given, method=method)
        try:
            return self._exact_log_partition(given)
        except InferenceTooLarge as error:
            if method == "exact":
                raise
            return self._annealed(given, error)

    @cached_property
    def field(self) -> MarkovRandomField:
        """The same distribution as tables, within the same limits."""
        return MarkovRandomField(spin_factors(self.names, self.problem)).within(
            self.limits.memory, self.limits.seconds
        )

    @property
    def is_quick(self) -> bool:
        """Whether exact means take no longer than a good number of sweeps."""
        most = min(_QUICK_CELLS, self._most_cells(_LARGEST_STORE))
        return self._elimination.n_stored_cells <= most

    @property
    def stored_elimination(self) -> SpinElimination:
        """Sums spin by spin, if all the tables that means, draws and modes keep fit."""
        try:
            return self._elimination.within(self._most_cells(_LARGEST_STORE))
        except InferenceTooLarge as error:
            raise error.advising(_ADVICE) from None

    def _most_cells(self, usual: int) -> int:
        """Return how many cells may be kept: as many as usual, or as the memory holds."""
        return usual if self.limits.memory is None else int(self.limits.memory / 8)

    @cached_property
    def _elimination(self) -> SpinElimination:
        return SpinElimination.of(self.problem)

    def _exact_log_partition(self, given: Any) -> Any:
        plan, most = self._elimination, self._most_cells(_LARGEST_TABLE)
        if given is None and plan.n_cells <= min(_QUICK_TABLE, most):
            return plan.log_partition()
        if given is None and self._is_hopeless:
            needed = plan.n_cells, 8 * plan.n_cells
            raise InferenceTooLarge(plan.width, *needed, self._field_bytes, _ADVICE)
        try:
            return self.field.log_partition(given, method="exact")
        except InferenceTooLarge:
            if given is not None or plan.n_cells > most:
                raise
            require_memory("an exact sum", 16 * plan.n_cells)
            return plan.log_partition()

    def _annealed(self, given: Any, error: InferenceTooLarge) -> Any:
        """Return an estimate of log Z, and warn that it is one."""
        if given is not None and not is_certain(given):
            return self.field.log_partition(given)
        found = IsingAnnealing().log_normalizer(self._left(given))
        warn_caller(
            f"log Z is an estimate by annealed importance sampling, {found.value:.8g} with "
            f"standard error {found.standard_error:.2g} and lower bound {found.bound:.8g}, as "
            f'{error.found} does not fit. Pass method="exact" to get an error instead, or '
            "an IsingAnnealing with more updates.",
            ApproximationWarning,
        )
        return found.value

    def _left(self, given: Any) -> IsingProblem:
        """Return the problem of the spins that are not given."""
        if given is None:
            return self.problem
        known = places_of(given, self.structure)
        return self.problem.clamped(list(known), list(known.values()))

    @property
    def _field_bytes(self) -> float:
        return self.limits.memory or USUAL_BYTES

    @property
    def _is_hopeless(self) -> bool:
        """Whether no order is narrow: that of a grid along its longest side is the best."""
        cells = self._elimination.n_cells
        is_flat = self.structure.is_grid and len(self.structure.shape) <= 2
        return is_flat and 4 * cells > self._field_bytes
