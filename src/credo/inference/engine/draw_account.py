"""How much the weighted draws of many rows are worth together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from credo.inference.engine.account import Account
from credo.inference.engine.engine import ConvergenceWarning
from credo.numerics.warning import warn_caller

__all__ = ["DrawTally"]

FEWEST_DRAWS = 100
"""Effective draws below which even their error is not known."""


@dataclass(eq=False)
class DrawTally:
    """Effective draws and errors of the rows so far."""

    effective: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def account(self, tolerance: float) -> Account:
        """Return the account; warn if some row is known worse than asked for.

        The worth of one effective draw is added to the error: a state that was never drawn
        is not therefore impossible. The spread of very few draws says nothing of their error,
        which is infinite then.
        """
        effective = min(self.effective, default=float("inf"))
        if 0 < effective < FEWEST_DRAWS:
            warn_caller(
                f"likelihood weighting must have draws worth at least {FEWEST_DRAWS} "
                f"independent ones to tell anything; found {effective:.2g}. Do not trust this "
                "answer: what is given lies far from what the network expects. Give less, or "
                "ask for what has an exact answer.",
                ConvergenceWarning,
            )
        elif effective > 0 and effective * (2 * tolerance) ** 2 < 1 - 1e-9:
            warn_caller(
                f"likelihood weighting must reach a standard error of {tolerance:.2g}; found "
                f"draws worth only {effective:.0f} independent ones. Read the error told with "
                "the answer, or give less.",
                ConvergenceWarning,
            )
        worst = max(self.errors, default=0.0)
        is_known = effective >= FEWEST_DRAWS
        error = float(np.hypot(worst, 1.0 / effective)) if is_known else float("inf")
        name = "likelihood weighting"
        return Account(name, False, error, "largest standard error", effective)
