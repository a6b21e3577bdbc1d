"""One query, a target and five findings: with all plans made, and the first of a new network.

With plans made, ten random targets with five random findings each are asked twice, findings
changing in between, and the time of one query is shown. pyAgrum has one engine for each target,
with that target alone set, its network built from credo's tables. The first query of a network
asks for a root after findings at leaves, so that much of the network matters; it pays for the
plan, not for compiling loops or reading the file. Differences are to pyAgrum. Where no finding
bears on a target, as for most targets of pigs, pyAgrum keeps the answer it has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Case, Contender, Goal
from benchmarks.network_data import (
    FOR_PGMPY,
    NETWORKS,
    agrum_network,
    codes,
    network,
    pgmpy_engine,
    quiet_import,
)

__all__ = ["CASES"]

pyagrum = quiet_import("pyagrum")
N_TARGETS, N_GIVEN, N_FRESH = 10, 5, 5
Answers = list[np.ndarray]


@dataclass(frozen=True)
class Query:
    """A target and two sets of findings about the same variables, as labels and as codes."""

    target: str
    states: tuple[Any, ...]
    given: list[dict[str, Any]]
    codes: list[dict[str, int]]


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries, and engines that have answered them before; pyAgrum has one for each."""

    net: Any
    queries: list[Query]
    agrum: list[Any]
    pgmpy: Any
    expected: Answers


def queries(name: str) -> Queries:
    net, rng = network(name), np.random.default_rng(0)
    drawn = net.sample(1_000, rng=rng)
    asked = [random_query(net, drawn, rng) for _ in range(N_TARGETS)]
    peer = agrum_network(net)
    engines = [agrum_engine(peer, query) for query in asked]
    slow = pgmpy_engine(name) if name in FOR_PGMPY else None
    data = Queries(net, asked, engines, slow, [])
    data.expected.extend(agrum(data))
    credo(data)
    return data


def random_query(net: Any, drawn: pd.DataFrame, rng: np.random.Generator) -> Query:
    names = rng.choice(drawn.columns.to_numpy(), N_GIVEN + 1, replace=False)
    return query_of(net, drawn[names[1:]], str(names[0]))


def query_of(net: Any, cases: pd.DataFrame, target: str) -> Query:
    """Return a query with the first two cases that differ."""
    two = cases.drop_duplicates().iloc[:2]
    given = [{str(name): state for name, state in row.items()} for _, row in two.iterrows()]
    return Query(target, net.variables[target].labels, given, codes(net, two))


def agrum_engine(peer: Any, query: Query) -> Any:
    engine = pyagrum.LazyPropagation(peer)
    engine.setTargets({query.target})
    engine.setEvidence(query.codes[0])
    return engine


def credo(data: Queries) -> Answers:
    return [
        data.net.query(query.target, given=given).to_numpy()
        for query in data.queries
        for given in query.given
    ]


def agrum(data: Queries) -> Answers:
    answers = []
    for engine, query in zip(data.agrum, data.queries, strict=True):
        for findings in query.codes:
            for name, code in findings.items():
                engine.chgEvidence(name, code)
            engine.makeInference()
            answers.append(engine.posterior(query.target).toarray())
    return answers


def pgmpy(data: Queries) -> Answers:
    answers = []
    for query in data.queries:
        for given in query.given:
            found = data.pgmpy.query([query.target], evidence=given, show_progress=False)
            places = [found.state_names[query.target].index(s) for s in query.states]
            answers.append(found.values[places])
    return answers


def difference(data: Any, answers: Answers) -> float:
    """Return the largest difference of a probability."""
    pairs = zip(answers, data.expected, strict=True)
    return max(float(np.abs(found - expected).max()) for found, expected in pairs)


@dataclass(frozen=True, eq=False)
class First:
    """A query, and networks that were not asked before, one for each run."""

    query: Query
    fresh: Iterator[Any]
    fresh_for_all: Iterator[Any]
    peer: Any
    expected: Answers


def first(name: str) -> First:
    """Return a question about the root with most descendants, given leaves drawn at random."""
    net, rng = network(name), np.random.default_rng(0)
    roots = [n for n in net.graph.nodes if not net.graph.parents(n)]
    target = max(roots, key=lambda n: len(net.graph.descendants([n])))
    leaves = [n for n in net.graph.descendants([target]) if not net.graph.children(n)]
    known = rng.choice(sorted(set(leaves) - {target}), N_GIVEN, replace=False)
    query = query_of(net, net.sample(1_000, rng=rng)[known], target)
    net.query(target, given=query.given[0])
    net.marginals(query.given[0])
    fresh, fresh_for_all = (iter([network(name) for _ in range(N_FRESH)]) for _ in range(2))
    data = First(query, fresh, fresh_for_all, agrum_network(net), [])
    data.expected.extend(first_agrum(data))
    return data


def first_query(data: First) -> Answers:
    return [next(data.fresh).query(data.query.target, given=data.query.given[0]).to_numpy()]


def first_marginals(data: First) -> Answers:
    found = next(data.fresh_for_all).marginals(data.query.given[0])
    return [found[data.query.target].to_numpy()]


def first_agrum(data: First) -> Answers:
    engine = agrum_engine(data.peer, data.query)
    engine.makeInference()
    return [engine.posterior(data.query.target).toarray()]


def warm_case(name: str, repeats: int) -> Case:
    share = 2.0 * N_TARGETS
    slow = {"pgmpy": Contender(pgmpy, "pgmpy", share)} if name in FOR_PGMPY else {}
    return Case(
        name=f"{name}, mean of {share:.0f} queries with plans made",
        data=lambda: queries(name),
        contenders={
            "credo": Contender(credo, share=share),
            "pyAgrum": Contender(agrum, "pyagrum", share),
            **slow,
        },
        quality={"differs by": difference},
        goals=(
            Goal("pyAgrum", at_least=1.0),
            Goal("credo", at_most=1e-6, measure="differs by"),
        ),
        repeats=repeats,
    )


def first_case(name: str, seconds: float) -> Case:
    return Case(
        name=f"{name}, first query of a new network",
        data=lambda: first(name),
        contenders={
            "credo": Contender(first_query),
            "credo, all marginals": Contender(first_marginals),
            "pyAgrum": Contender(first_agrum, "pyagrum"),
        },
        quality={"differs by": difference},
        goals=(
            Goal("credo", at_most=seconds, measure="seconds"),
            Goal("credo", at_most=1e-6, measure="differs by"),
        ),
        repeats=N_FRESH,
    )


CASES = (
    *(warm_case(name, 5 if name == "diabetes" else 30) for name in NETWORKS),
    first_case("alarm", 0.05),
    first_case("munin", 3.0),
)
