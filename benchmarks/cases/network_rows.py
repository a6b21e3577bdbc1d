"""All marginals and the log probability of the findings, for each of 1,000 rows.

A fixed random fifth of the variables is known in every row; in one case every cell is unknown
with probability 0.3, so that nearly every row knows other variables. pyAgrum answers row after
row, its network built from credo's tables with all their digits; it answers a part of the rows,
and its time is scaled to all of them. So does pgmpy on the smaller networks, one variable after
the other, for all at once it would build their joint table; it gives no log probability. All
engines have answered before, so that credo has its plans. Differences are to LazyPropagation on
the first rows. credo answers equal rows once; how many differ is shown.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Case, Contender, Goal
from benchmarks.network_data import (
    FOR_PGMPY,
    agrum_network,
    codes,
    missing_at_random,
    network,
    pgmpy_engine,
    quiet_import,
    some_columns,
)

__all__ = ["CASES"]

pyagrum = quiet_import("pyagrum")
N_ROWS, N_CHECKED, N_REPEATS, N_PGMPY = 1_000, 3, 3, 3
ENGINES = {
    "LazyPropagation": pyagrum.LazyPropagation,
    "ShaferShenoy": pyagrum.ShaferShenoyInference,
}


@dataclass(frozen=True)
class Row:
    """What is known and what is asked in one row, variables by pyAgrum's numbers."""

    known: dict[int, int]
    unknown: dict[str, int]


@dataclass(frozen=True)
class RowAnswers:
    """What pyAgrum says: tables of the unknown variables of each row, log probabilities."""

    marginals: list[dict[str, np.ndarray]]
    log_prob: np.ndarray


@dataclass(frozen=True, eq=False)
class Rows:
    """One question in the words of credo and of pyAgrum.

    Attributes
    ----------
    net
        The network that credo asks.
    rows
        Those that pyAgrum answers.
    has_one_pattern
        Whether all rows know the same variables.
    """

    net: Any
    table: pd.DataFrame
    rows: list[Row]
    has_one_pattern: bool
    engines: dict[str, Any]
    pgmpy: Any
    expected: RowAnswers


def question(name: str, n_peer: int, missing: float | None) -> Rows:
    """Return rows drawn from a network, and engines that have answered the first of them.

    Parameters
    ----------
    n_peer
        How many rows pyAgrum will answer.
    missing
        Share of unknown cells; a fixed fifth of the columns is known if None.
    """
    net, is_fixed = network(name), missing is None
    table = known_cells(net, missing)
    net.marginals(table)
    peer = agrum_network(net)
    rows = agrum_rows(net, peer, table.iloc[:n_peer])
    engines = {label: engine(peer) for label, engine in ENGINES.items()}
    expected = {
        label: answered(engine, rows[:N_CHECKED], has_one_pattern=False)
        for label, engine in engines.items()
    }
    slow = pgmpy_engine(name) if name in FOR_PGMPY else None
    return Rows(net, table, rows, is_fixed, engines, slow, expected["LazyPropagation"])


def known_cells(net: Any, missing: float | None) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    drawn = net.sample(N_ROWS, rng=rng)
    if missing is None:
        return some_columns(drawn, len(net.variables) // 5, rng)
    return missing_at_random(drawn, missing, rng)


def agrum_rows(net: Any, peer: Any, table: pd.DataFrame) -> list[Row]:
    numbers = {name: peer.idFromName(name) for name in net.variables}
    return [
        Row(
            {numbers[name]: code for name, code in known.items()},
            {name: i for name, i in numbers.items() if name not in known},
        )
        for known in codes(net, table)
    ]


def answered(engine: Any, rows: list[Row], has_one_pattern: bool) -> RowAnswers:
    """Return what an engine of pyAgrum says; it is quicker where findings only change."""
    marginals, prob = [], []
    for row in rows:
        if has_one_pattern:
            for variable, code in row.known.items():
                engine.chgEvidence(variable, code)
        else:
            engine.setEvidence(row.known)
        engine.makeInference()
        marginals.append({n: engine.posterior(i).toarray() for n, i in row.unknown.items()})
        prob.append(engine.evidenceProbability())
    return RowAnswers(marginals, np.log(prob))


def credo(data: Rows) -> Any:
    return data.net.marginals(data.table)


def agrum(label: str, n_peer: int) -> Contender:
    def run(data: Rows) -> RowAnswers:
        return answered(data.engines[label], data.rows, data.has_one_pattern)

    return Contender(run, "pyagrum", share=n_peer / N_ROWS)


def pgmpy(data: Rows) -> RowAnswers:
    """Return the marginals of the first rows, each variable asked for alone."""
    marginals = []
    for row in data.table.iloc[:N_PGMPY].to_dict("records"):
        given = {name: state for name, state in row.items() if not pd.isna(state)}
        unknown = [name for name in data.rows[0].unknown if name not in given]
        found = {n: data.pgmpy.query([n], given, show_progress=False) for n in unknown}
        marginals.append({n: table.values for n, table in found.items()})
    return RowAnswers(marginals, np.full(N_PGMPY, np.nan))


def marginal_difference(data: Rows, answer: Any) -> float:
    """Return the largest difference of a probability in the rows that are checked."""
    return max(
        float(np.abs(_marginal(answer, row, name) - table).max())
        for row, tables in enumerate(data.expected.marginals)
        for name, table in tables.items()
    )


def _marginal(answer: Any, row: int, name: str) -> np.ndarray:
    if isinstance(answer, RowAnswers):
        return answer.marginals[row][name]
    table: np.ndarray = answer[name].iloc[row].to_numpy()
    return table


def log_prob_difference(data: Rows, answer: Any) -> float:
    """Return the largest difference of a log probability in the rows that are checked."""
    return float(np.abs(answer.log_prob[:N_CHECKED] - data.expected.log_prob).max())


def distinct_rows(data: Rows, answer: Any) -> float:
    """Return how many of the answered rows differ."""
    return float(len(data.table.iloc[: len(answer.log_prob)].drop_duplicates()))


def case(name: str, n_peer: int, faster: float, missing: float | None = None) -> Case:
    known = "a fifth known" if missing is None else f"{missing:.0%} missing at random"
    return Case(
        name=f"{name}, {N_ROWS:,} rows, {known}; pyAgrum's time scaled from {n_peer} rows",
        data=lambda: question(name, n_peer, missing),
        contenders={
            "credo": Contender(credo),
            **{label: agrum(label, n_peer) for label in ENGINES},
            **_pgmpy_contender(name, missing),
        },
        quality={
            "marginals differ by": marginal_difference,
            "log P differs by": log_prob_difference,
            "distinct rows": distinct_rows,
        },
        goals=(
            *(Goal(label, at_least=faster) for label in ENGINES),
            Goal("credo", at_most=1e-10, measure="marginals differ by"),
            Goal("credo", at_most=1e-10, measure="log P differs by"),
        ),
        repeats=N_REPEATS,
    )


def _pgmpy_contender(name: str, missing: float | None) -> dict[str, Contender]:
    if name not in FOR_PGMPY or missing is not None:
        return {}
    return {"pgmpy": Contender(pgmpy, "pgmpy", share=N_PGMPY / N_ROWS)}


CASES = (
    case("alarm", 200, faster=100.0),
    case("alarm", 200, faster=100.0, missing=0.3),
    case("win95pts", 100, faster=100.0),
    case("hepar2", 100, faster=100.0),
    case("insurance", 100, faster=5.0),
    case("hailfinder", 50, faster=10.0),
    case("pathfinder", 10, faster=10.0),
    case("andes", 10, faster=10.0),
    case("pigs", 10, faster=10.0),
    case("munin", 5, faster=10.0),
    case("diabetes", 3, faster=10.0),
    case("water", 50, faster=10.0),
    case("mildew", 20, faster=10.0),
    case("barley", 3, faster=10.0),
)
