import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.testing import assert_allclose

from credo.graphs import ConditionalTable, Variable
from credo.inference.discrete.exact.plan_cache import PlanCache
from credo.inference.discrete.exact.plan_outline import Question
from credo.inference.discrete.exact_inference import TableInference
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.discrete.findings import Findings
from credo.inference.hybrid.row_engine import RowProblem
from credo.inference.hybrid.structure import HybridStructure


@dataclass
class Plan:
    n_bytes: int


def filled(sizes, max_bytes, max_plans=64):
    cache = PlanCache(max_plans)
    for key, size in enumerate(sizes):
        cache.put(key, Plan(size), max_bytes)
    return cache


def test_the_oldest_plans_go_until_the_rest_fits_the_memory():
    cache = filled([40, 30, 30], max_bytes=70)
    assert [key in cache for key in range(3)] == [False, True, True]
    assert cache.n_bytes == 60


def test_a_plan_asked_for_again_outlives_one_that_was_not():
    cache = filled([30, 30], max_bytes=70)
    assert cache.get(0) is not None
    cache.put(2, Plan(30), 70)
    assert [key in cache for key in range(3)] == [True, False, True]


def test_no_more_plans_are_kept_than_allowed_however_small():
    cache = filled([1] * 10, max_bytes=1000, max_plans=3)
    assert len(cache) == 3
    assert cache.n_bytes == 3
    assert [key in cache for key in (6, 7, 8, 9)] == [False, True, True, True]


def test_the_latest_plan_stays_even_if_it_alone_is_too_large():
    cache = filled([10, 500], max_bytes=100)
    assert (0 in cache, 1 in cache, cache.n_bytes) == (False, True, 500)


def test_a_plan_that_grew_counts_with_its_new_size_when_the_next_one_is_made():
    cache, grows = filled([30, 30], max_bytes=100), Plan(30)
    cache.put("grows", grows, 100)
    grows.n_bytes = 55
    assert cache.n_bytes == 115
    cache.put("next", Plan(5), 100)
    assert [key in cache for key in (0, 1, "grows", "next")] == [False, True, True, True]
    assert cache.n_bytes == 90


def test_of_two_plans_for_one_key_the_first_is_kept():
    cache, first = PlanCache(), Plan(5)
    assert cache.put("a", first, 100) is first
    assert cache.put("a", Plan(7), 100) is first
    assert cache.n_bytes == 5


def test_what_is_unknown_is_none_and_copies_are_empty():
    cache = filled([1, 2], max_bytes=100, max_plans=5)
    assert cache.get("other") is None
    for twin in (pickle.loads(pickle.dumps(cache)), copy.deepcopy(cache)):
        assert (len(twin), twin.n_bytes, twin.max_plans) == (0, 0, 5)


def test_threads_that_share_a_cache_leave_its_total_true():
    cache = PlanCache(max_plans=5)

    def work(seed):
        rng = np.random.default_rng(seed)
        for key in rng.integers(20, size=2000).tolist():
            if cache.get(key) is None:
                cache.put(key, Plan(key + 1), 60.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(cache) <= 5
    assert cache.n_bytes == sum(key + 1 for key in range(20) if key in cache)


def chain(n, rng):
    tables = [table_of((i, i + 1), rng.random((4, 4)) + 0.1) for i in range(n - 1)]
    return FactorProblem((4,) * n, tuple(tables))


def test_plans_of_many_questions_take_no_more_than_the_memory_allowed_together():
    problem = chain(12, np.random.default_rng(0))
    one = TableInference(problem)
    one.plan(Question("marginals", tuple(range(1, 12)), (0,)))
    engine = TableInference(problem, max_bytes=3.5 * one.n_bytes)
    kept = set()
    for i in range(12):
        engine.plan(Question("marginals", tuple(j for j in range(12) if j != i), (i,)))
        assert engine.n_bytes <= engine.limit
        kept.add(len(engine.plans))
    assert max(kept) < 12


def test_threads_that_ask_one_engine_get_what_one_thread_gets():
    problem = chain(8, np.random.default_rng(1))
    expected = [TableInference(problem).total(known(i))[0] for i in range(8)]
    shared = TableInference(problem)
    shared.plans.max_plans = 2
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: shared.total(known(i % 8))[0], range(160)))
    assert_allclose(found, np.tile(expected, 20), rtol=1e-12)


def known(variable):
    return Findings(1, {variable: np.array([1])})


def test_hybrid_networks_keep_their_plans_within_the_memory_too():
    variables = [Variable(f"v{i}", tuple(range(8))) for i in range(12)]
    uniform = np.full(8, 1 / 8)
    nodes = [ConditionalTable(variables[0], (), uniform)]
    for parent, child in pairwise(variables):
        nodes.append(ConditionalTable(child, (parent,), np.tile(uniform, (8, 1))))
    structure = HybridStructure(nodes, max_bytes=20_000)
    for i in range(12):
        plans = structure.discrete(nodes[: i + 1])
        plans.total(RowProblem(1, {}, ()))
        assert structure.discrete(nodes[: i + 1]) is plans
    assert len(structure._plans) < 12
    assert structure._plans.n_bytes <= 20_000
