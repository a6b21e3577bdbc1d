"""What the settings of a linear regression mean for its problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics
from credo.families.ridge import Intercept, Noise
from credo.inference.linear.regression import LinearProblem, WeightPrecision
from credo.models.contract.setting import require_choice, require_precision

__all__ = ["LinearSetting"]


@dataclass(frozen=True)
class LinearSetting:
    """Settings as the user wrote them, and the problem that they state."""

    inference: str
    weight_precision: Any
    noise_precision: Any
    fit_intercept: bool
    penalize_intercept: bool

    def check(self) -> None:
        """Refuse settings that cannot be."""
        require_choice("inference", self.inference, ("exact", "map", "ml"))
        require_precision("weight_precision", self.weight_precision, ("evidence", "ard"))
        if not isinstance(self.noise_precision, Gamma):
            require_precision("noise_precision", self.noise_precision, ("evidence",))
        elif self.noise_precision.batch_shape != ():
            raise ValueError(
                "noise_precision must be one Gamma belief; found a batch of shape "
                f"{self.noise_precision.batch_shape}. Pass a Gamma with scalar parameters."
            )

    @property
    def intercept(self) -> Intercept:
        """What is believed of the intercept beforehand."""
        if not self.fit_intercept:
            return "none"
        return "penalized" if self.penalize_intercept else "flat"

    @property
    def noise(self) -> Noise:
        """What is known of the noise; None if it is to be learned."""
        if isinstance(self.noise_precision, Gamma):
            return self.noise_precision
        return None if isinstance(self.noise_precision, str) else float(self.noise_precision)

    @property
    def flat_priors(self) -> tuple[str, ...]:
        """Unknowns with a flat prior of density one."""
        named = {"intercept": self.intercept == "flat", "log noise": self.noise is None}
        return tuple(name for name, is_flat in named.items() if is_flat)

    def problem(
        self, statistics: LinearStatistics, rows: LinearStatistics | None = None
    ) -> LinearProblem:
        """Return the problem for an engine; ``rows`` are kept where moments lose digits."""
        given = self.weight_precision
        if not isinstance(given, str):
            given = float(given)
        precision: WeightPrecision = "none" if self.inference == "ml" else given
        return LinearProblem(statistics, self.intercept, precision, self.noise, rows)

    def is_enough(self, statistics: LinearStatistics) -> bool:
        """Return whether the data leave something to learn the noise from."""
        return statistics.weight > self._taken

    def require_enough(self, statistics: LinearStatistics) -> None:
        """Refuse data that leave nothing to learn the noise from."""
        if not self.is_enough(statistics):
            raise ValueError(
                f"samples must weigh more than {self._taken:g} together to learn with these "
                f"settings; found n_samples={statistics.weight:g}. Add rows, give "
                "noise_precision as a number, or scale sample_weight, which counts copies of "
                "a row, to sum to the number of rows."
            )

    @property
    def _taken(self) -> float:
        """Rows that a flat intercept uses up before the noise can be learned."""
        return float(self.noise is None and self.intercept == "flat")
