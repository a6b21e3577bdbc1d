"""What every engine of networks is, and the one that is exact where that fits.

A network is asked by the names of its variables, about rows of findings. Kinds of networks
differ in what is exact and in what is approximate; the rule that chooses is one, `Auto`, and
it alone looks up a method that is asked for by name or as a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.engine.engine import Account
from credo.inference.engine.error import AnswerTooLarge, InferenceTooLarge, NoExactAnswer
from credo.inference.engine.findings import Findings
from credo.inference.engine.method import Method, engine_for, problem_of, warn_approximate
from credo.numerics.array import Array
from credo.numerics.memory import bytes_text

__all__ = ["Approximation", "Auto", "ExactEngine", "NetworkEngine", "PlanReport", "exact_or"]

Marginals = tuple[dict[str, Any], Array, Account]
Joint = tuple[Any, Array, Account]
Total = tuple[Array, Account]
Best = tuple[dict[str, NDArray[np.intp]], Array, Account]
Drawn = tuple[dict[str, NDArray[Any]], Array]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class PlanReport:
    """What an answer costs, stated before anything is allocated.

    Attributes
    ----------
    width
        Variables of the largest table, less one.
    cells
        Multiplications for one row of findings.
    bytes
        Memory for one row of findings.
    seconds
        Rough time for one row of findings on one core.
    fits
        Whether it fits the memory that plans may take.
    is_exact
        False of weighted draws, where nothing else can answer.
    """

    width: int
    cells: int
    bytes: int
    seconds: float
    fits: bool
    is_exact: bool = True

    def __str__(self) -> str:
        fit = "fits" if self.fits else "does not fit"
        how = "" if self.is_exact else "weighted draws: "
        return (
            f"{how}width {self.width}, {self.cells:,} cells, {bytes_text(self.bytes)} and "
            f"about {self.seconds:.2g} s for one row; {fit} the memory allowed"
        )


class NetworkEngine(Protocol):
    """Questions by name, about rows of findings, each answered with its account.

    Marginals are by name: of a discrete variable (n_rows, n_states), of a real one a
    `RealMarginal`. Log totals are minus infinity in rows that are proven impossible, and NaN
    where the method does not tell them.
    """

    def marginals(self, findings: Findings[str], names: Sequence[str]) -> Marginals:
        """Return marginals by name, log totals of the findings, and how they were found."""
        ...

    def joint(self, findings: Findings[str], names: Sequence[str]) -> Joint:
        """Return the joint distribution of several variables in every row."""
        ...

    def total(self, findings: Findings[str]) -> Total:
        """Return the log of the sum of the density over all that is unknown, row by row."""
        ...

    def best(self, findings: Findings[str], names: Sequence[str]) -> Best:
        """Return the most probable states of some discrete variables, jointly."""
        ...

    def draws(self, findings: Findings[str], n_draws: int, rng: Generator) -> Drawn:
        """Return random states or values given each row, (n_rows, n_draws) by name."""
        ...


class ExactEngine(NetworkEngine, Protocol):
    """Exact answers, which may not fit or not exist."""

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return the distribution of one variable given states, if its plan is kept.

        None if there is no such plan, or what is given is impossible.
        """
        ...

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        ...

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals of some variables would cost given others."""
        ...


class Approximation(Protocol):
    """A way to answer without an exact plan, by engines for one kind of problem."""

    @property
    def problem(self) -> type | None:
        """The kind of problem that its engines solve; None for a product of tables."""
        ...

    @property
    def questions(self) -> Collection[str]:
        """What it answers where nothing is exact."""
        ...

    def note(self, question: str) -> str:
        """Return what to say where it answers in place of an exact one that does not fit.

        Nothing if the answer has said so itself.
        """
        ...

    def by(self, engine: Any) -> NetworkEngine:
        """Return its answers by an engine that was asked for."""
        ...

    def after(self, error: InferenceTooLarge | NoExactAnswer) -> NetworkEngine:
        """Return its answers where exact ones were refused, by what it trusts most."""
        ...

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what marginals of some variables would cost given others."""
        ...


def exact_or(
    method: Method,
    exact: Callable[[], Answer],
    otherwise: Callable[[InferenceTooLarge | NoExactAnswer], Answer],
) -> Answer:
    """Return the exact answer, or another where it does not fit or does not exist.

    With the method "exact", and for an answer that no method could hold, the error is raised.

    Examples
    --------
    >>> exact_or("auto", lambda: "exact", lambda error: "approximate")
    'exact'
    """
    try:
        return exact()
    except AnswerTooLarge:
        raise
    except (InferenceTooLarge, NoExactAnswer) as error:
        if method == "exact":
            raise
        return otherwise(error)


@dataclass(frozen=True, eq=False)
class Auto:
    """Exact answers wherever they fit, else approximate ones; or those of a method by name.

    Attributes
    ----------
    exact
        Exact answers.
    approximations
        Ways to be approximate, the best first.
    kind
        What kind of network it is, for messages.
    """

    exact: ExactEngine
    approximations: tuple[Approximation, ...]
    kind: str

    def marginals(
        self, findings: Findings[str], names: Sequence[str], method: Method = "auto"
    ) -> Marginals:
        """Return marginals by name, log totals of the findings, and how they were found."""
        return self._answer("marginals", method, lambda by: by.marginals(findings, names))

    def joint(
        self, findings: Findings[str], names: Sequence[str], method: Method = "auto"
    ) -> Joint:
        """Return the joint distribution of several variables in every row."""
        return self._answer("marginals", method, lambda by: by.joint(findings, names))

    def total(self, findings: Findings[str], method: Method = "auto") -> Total:
        """Return the log of the sum of the density over all that is unknown, row by row."""
        return self._answer("total", method, lambda by: by.total(findings))

    def best(
        self, findings: Findings[str], names: Sequence[str], method: Method = "auto"
    ) -> Best:
        """Return the most probable states of some discrete variables, jointly."""
        return self._answer("mode", method, lambda by: by.best(findings, names))

    def draws(self, findings: Findings[str], n_draws: int, rng: Generator) -> Drawn:
        """Return random states or values given each row, (n_rows, n_draws) by name."""
        return self._exact_or_not("draws", "auto", lambda by: by.draws(findings, n_draws, rng))

    def report(self, names: Sequence[str], observed: Sequence[str]) -> PlanReport:
        """Return what exact marginals would cost; of draws if there is no exact answer."""
        return exact_or(
            "auto",
            lambda: self.exact.report(names, observed),
            lambda error: self.approximations[-1].report(names, observed),
        )

    def repeated(self, name: str, states: Mapping[str, int]) -> Array | None:
        """Return the exact distribution of one variable given states, if its plan is kept."""
        return self.exact.repeated(name, states)

    def conflict(self, findings: Findings[str]) -> list[str]:
        """Return the names of a smallest part of one row of findings that is impossible."""
        return self.exact.conflict(findings)

    def _answer(
        self, question: str, method: Method, ask: Callable[[NetworkEngine], Answer]
    ) -> Answer:
        if method == "auto" or method == "exact":
            return self._exact_or_not(question, method, ask)
        kinds = [way.problem for way in self.approximations]
        engine = engine_for(method, question, kinds, self.kind)
        way = next(w for w in self.approximations if w.problem is problem_of(engine))
        return ask(way.by(engine))

    def _exact_or_not(
        self, question: str, method: Method, ask: Callable[[NetworkEngine], Answer]
    ) -> Answer:
        return exact_or(
            method,
            lambda: ask(self.exact),
            lambda error: self._approximate(question, error, ask),
        )

    def _approximate(
        self,
        question: str,
        error: InferenceTooLarge | NoExactAnswer,
        ask: Callable[[NetworkEngine], Answer],
    ) -> Answer:
        """Return the answer of the first way that has one; say so if an exact one exists."""
        refused: InferenceTooLarge | NoExactAnswer = error
        for way in self.approximations:
            if question not in way.questions:
                continue
            try:
                found = ask(way.after(error))
            except InferenceTooLarge as other:
                refused = other
                continue
            note = way.note(question)
            if note and isinstance(error, InferenceTooLarge) and not _is_exact(found):
                warn_approximate(f"{note}: {error.excess}")
            return found
        raise refused


def _is_exact(found: Any) -> bool:
    """Return whether an answer has an account that says so."""
    account = found[-1] if isinstance(found, tuple) else None
    return isinstance(account, Account) and account.is_exact
