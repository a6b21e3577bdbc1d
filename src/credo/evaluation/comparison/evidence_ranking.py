"""Models ranked by evidence, as far as their evidences mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from credo.evaluation.comparison.trial import Trial
from credo.evaluation.comparison.verdict import Kind, Verdict, percent
from credo.inference.engine.model_evidence import Evidence, model_posterior
from credo.numerics.array import Array

__all__ = ["EvidenceRanking"]


@dataclass(frozen=True, eq=False)
class EvidenceRanking:
    """Posterior over the models whose evidences can be compared.

    Attributes
    ----------
    names
        Of all models.
    log_evidence
        Of each; NaN if there is none.
    probability
        Posterior probability of each, with equal prior probabilities; NaN for models that
        have no evidence, or one that means something else.
    notes
        Why models were left out.
    """

    names: tuple[str, ...]
    log_evidence: Array
    probability: Array
    notes: tuple[str, ...]

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> EvidenceRanking:
        """Return the posterior over the largest set of comparable models."""
        evidences = [t.evidence for t in trials]
        usable = [e.key for e in evidences if not e.reason]
        # Of sets of equal size the first is taken, in the order of the models.
        main = Counter(usable).most_common(1)[0][0] if usable else None
        reasons = [_reason(e, main) for e in evidences]
        values = np.array([e.value for e in evidences])
        probability = np.full(len(trials), np.nan)
        chosen = np.array([not reason for reason in reasons])
        # One model alone is certain to be the best of itself, which says nothing.
        if chosen.sum() > 1:
            probability[chosen] = model_posterior(values[chosen])
        names = tuple(t.name for t in trials)
        notes = _notes(names, reasons)
        if chosen.sum() == 1:
            notes += ("no two models have evidences that can be compared.",)
        return cls(names, values, probability, notes)

    def verdicts(self, n_rows: int, level: float) -> tuple[Verdict, ...]:
        """Return which of each two comparable models the data support."""
        ranked = [i for i, p in enumerate(self.probability) if np.isfinite(p)]
        return tuple(self._verdict(i, j, n_rows, level) for i, j in combinations(ranked, 2))

    def _verdict(self, i: int, j: int, n_rows: int, level: float) -> Verdict:
        if self.log_evidence[j] > self.log_evidence[i]:
            i, j = j, i
        gain = float(self.log_evidence[i] - self.log_evidence[j])
        probability = float(special.expit(gain))
        first, second = self.names[i], self.names[j]
        kind: Kind = "better" if probability >= level else "not distinguishable"
        sentence = f"{first} is more probable than {second}: {percent(probability)}"
        if kind != "better":
            sentence = (
                f"{first} and {second} are not distinguishable with {n_rows:,} rows "
                f"({percent(probability)} for {first})"
            )
        return Verdict(
            first,
            second,
            "evidence",
            kind,
            probability,
            np.nan,
            gain,
            np.nan,
            np.nan,
            n_rows,
            np.nan,
            sentence,
        )


def _notes(names: Sequence[str], reasons: Sequence[str]) -> tuple[str, ...]:
    """Return one sentence for each reason to leave models out."""
    left_out: dict[str, list[str]] = {}
    for name, reason in zip(names, reasons, strict=True):
        if reason:
            left_out.setdefault(reason, []).append(name)
    return tuple(
        f"not in the posterior over models, as {reason}: {', '.join(who)}."
        for reason, who in left_out.items()
    )


def _reason(evidence: Evidence, main: tuple[str, tuple[str, ...], bool] | None) -> str:
    """Return why an evidence cannot stand beside those of the main set; empty if it can."""
    if evidence.reason or main is None:
        return evidence.reason or "there is no evidence"
    of, flat, is_bound = main
    if evidence.of != of:
        return f"the evidence is of {evidence.of}, that of the others of {of}"
    if (evidence.method == "bound") != is_bound:
        return "a bound must not be compared with an evidence"
    if evidence.flat != flat:
        return f"the flat priors {list(evidence.flat)} are not those of the others {list(flat)}"
    return ""
