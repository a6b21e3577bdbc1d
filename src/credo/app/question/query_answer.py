"""What a network answers to a question, in numbers and words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from credo.app.question.finding_text import findings_text

__all__ = ["Answer", "RealAnswer", "StateAnswer"]

# Beyond, numbers cannot be written but by their logs.
LARGEST_LOG = 700.0


@dataclass(frozen=True)
class StateAnswer:
    """Probabilities of states, or of joint states."""

    name: str
    labels: tuple[str, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, name: str, series: pd.Series[float]) -> StateAnswer:
        """Return the entries of a labelled series; levels of a joint one are named."""
        levels = list(series.index.names)
        if len(levels) == 1:
            labels = tuple(str(label) for label in series.index)
        else:
            labels = tuple(
                ", ".join(f"{n}={s}" for n, s in zip(levels, label, strict=True))
                for label in series.index
            )
        return cls(name, labels, tuple(float(share) for share in series))


@dataclass(frozen=True)
class RealAnswer:
    """Mean and standard deviation of a real variable."""

    name: str
    mean: float
    sd: float


@dataclass(frozen=True)
class Answer:
    """Distributions of some variables, and how they were found.

    Attributes
    ----------
    parts
        One for each variable, or one for all jointly.
    given, do
        Findings and interventions.
    log_prob
        Log probability of the findings; None if there are none.
    method, is_exact, error
        How it was found, whether that is exact, and how far off it may be.
    is_density
        Whether a real number is given, so that the probability is a density.
    is_relative
        Whether likelihoods are given, whose scale the probability then has.
    """

    parts: Sequence[StateAnswer | RealAnswer]
    given: Mapping[str, Any]
    do: Mapping[str, Any]
    log_prob: float | None
    method: str
    is_exact: bool
    error: str = ""
    is_density: bool = False
    is_relative: bool = False

    def lines(self) -> list[str]:
        """Return sentences on findings, their probability, and the method."""
        lines = [f"given {findings_text(self.given)}"] if self.given else []
        if self.do:
            lines.append(f"set {findings_text(self.do)}")
        return [*lines, *self._probability_line(), self._method_line()]

    def _probability_line(self) -> list[str]:
        if self.log_prob is None:
            return []
        if math.isnan(self.log_prob):
            return ["log P(given) is not found by this method"]
        sign = "=" if self.is_exact else "is about"
        what = "density(given)" if self.is_density else "P(given)"
        text = f"log {what} {sign} {self.log_prob:.6g}"
        if self.is_relative:
            return [f"{text}, in the scale of the likelihoods"]
        if abs(self.log_prob) > LARGEST_LOG:
            return [text]
        return [f"{text}, {what} {sign} {math.exp(self.log_prob):.4g}"]

    def _method_line(self) -> str:
        if not self.is_exact:
            text = [f"method: {self.method}", "approximate", self.error]
            return ", ".join(part for part in text if part)
        return "method: exact" if self.method == "exact" else f"method: {self.method}, exact"

    def frame(self) -> pd.DataFrame:
        """Return one row per state, or per real variable, for a file."""
        rows: list[dict[str, Any]] = []
        for part in self.parts:
            if isinstance(part, RealAnswer):
                rows.append({"variable": part.name, "mean": part.mean, "sd": part.sd})
                continue
            rows += [
                {"variable": part.name, "state": label, "probability": share}
                for label, share in zip(part.labels, part.shares, strict=True)
            ]
        return pd.DataFrame(rows)
