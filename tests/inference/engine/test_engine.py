import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.evaluation.laws.engine import INDEPENDENT
from credo.inference.density.laplace import LaplaceApproximation
from credo.inference.discrete.approximate.gibbs import IteratedConditionalModes
from credo.inference.discrete.approximate.importance import TableImportance
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import (
    Account,
    ConvergenceWarning,
    Drawn,
    FirstOf,
    Inference,
    Move,
    Progress,
    Seconds,
    Settled,
    StandardError,
    Step,
    Steps,
    fingerprint,
    run,
)
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.spins.problem import small_problem
from credo.inference.spins.sweep_engine import IsingMeanField
from credo.numerics.status import Status
from rooms import every_example, named


@dataclass(frozen=True)
class Halving:
    """An engine that halves its state, so that the number of steps is known."""

    tolerance: float = 0.1
    max_steps: int = 100
    is_random = False

    @property
    def stop(self):
        return Settled(self.tolerance, self.max_steps)

    def init(self, problem, rng):
        return problem

    def step(self, problem, state, rng):
        return state / 2, Move(objective=-state, change=state / 2)

    def posterior(self, problem, state):
        return Inference(state, 0.0, "exact")


def test_run_stops_when_the_change_is_within_tolerance():
    found = run(Halving(), 1.0)
    assert found.status is Status.CONVERGED
    assert len(found.trace) == 4
    assert found.posterior == 1 / 16


def test_one_step_is_said_to_be_too_few():
    with pytest.warns(ConvergenceWarning, match="reached max_steps after 1 steps"):
        found = run(Halving(max_steps=1), 1.0)
    assert found.status is Status.MAX_STEPS


def test_run_goes_on_from_the_state_of_an_earlier_run():
    with pytest.warns(ConvergenceWarning):
        first = run(Halving(max_steps=2), 1.0)
    second = run(Halving(), 1.0, state=first.state)
    assert second.posterior == run(Halving(), 1.0).posterior
    assert len(second.trace) == 2


def test_time_limit_stops_a_run_and_keeps_its_answer():
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        found = run(Halving(), 1.0, stop=Settled(0.0) | Seconds(0.0))
    assert found.status is Status.MAX_SECONDS
    assert found.posterior == 0.5


def test_every_step_is_reported():
    seen = []
    run(Halving(), 1.0, on_step=lambda n, step: seen.append((n, step.objective)))
    assert seen == [(n, -(2.0 ** (1 - n))) for n in range(1, 5)]


@dataclass(frozen=True)
class Stopping(Halving):
    """An engine that finds nothing below a half."""

    def step(self, problem, state, rng):
        return super().step(problem, state, rng) if state > 0.5 else (state, Move(-state, 0.3))


def test_a_step_that_finds_nothing_better_ends_the_run_unconverged():
    with pytest.warns(ConvergenceWarning, match="found no better step after 2 steps"):
        found = run(Stopping(), 1.0)
    assert found.status is Status.STUCK
    assert found.posterior == 0.5


def test_a_state_that_stays_because_it_is_right_has_converged():
    assert run(Stopping(tolerance=0.4), 0.5).status is Status.CONVERGED


def test_an_answer_of_which_nothing_is_said_is_not_called_exact():
    account = run(Halving(), 1.0).account
    assert account == Account("Halving", False, account.error, "unknown")
    assert np.isnan(account.error)


@dataclass(frozen=True)
class DrawStep(Step):
    n_draws: int


@dataclass(frozen=True)
class Walker:
    """A random walk whose draws are all kept; a warm-up forgets those before it."""

    is_random = True
    stop = Drawn(100, warm_up=10)

    def init(self, problem, rng):
        return (rng.normal(),)

    def step(self, problem, state, rng):
        after = (*state, state[-1] + rng.normal())
        return after, DrawStep(after[-1], len(after) - 1)

    def warmed(self, problem, state):
        return state[-1:]

    def joined(self, problem, states):
        return tuple(place for state in states for place in state[1:])

    def posterior(self, problem, state):
        return Inference(np.array(state))


def test_draws_of_the_warm_up_do_not_count():
    found = run(Walker(), None, np.random.default_rng(0))
    assert found.status is Status.COMPLETE
    assert len(found.trace) == 110
    walk = np.cumsum(np.random.default_rng(0).normal(size=111))
    assert_allclose(found.posterior, walk[10:])


def test_an_engine_that_draws_must_be_given_a_generator():
    with pytest.raises(ValueError, match="Walker must be given a Generator"):
        run(Walker(), None)


def test_each_chain_has_a_stream_of_its_own():
    found = run(Walker(), None, np.random.default_rng(0), chains=3).posterior.reshape(3, 100)
    alone = [run(Walker(), None, s).posterior[1:] for s in np.random.default_rng(0).spawn(3)]
    assert_array_equal(found, alone)
    steps = np.diff(found, axis=1)
    assert np.abs(np.corrcoef(steps) - np.eye(3)).max() < 0.4


def test_an_engine_that_joins_no_chains_is_run_once():
    with pytest.raises(ValueError, match="chains must be at least 1, and 1 for an engine"):
        run(Halving(), 1.0, chains=2)


def test_several_chains_do_not_start_from_one_state():
    with pytest.raises(ValueError, match="state must be None for several chains"):
        run(Walker(), None, np.random.default_rng(0), chains=2, state=(0.0,))


def test_a_warm_up_is_asked_of_an_engine_that_has_one():
    with pytest.raises(ValueError, match="a warm-up must be asked of an engine that has one"):
        run(TableImportance(), RING, np.random.default_rng(0), stop=Drawn(10, warm_up=5))


RING = FactorProblem(
    (3,) * 5,
    tuple(
        table_of((i, (i + 1) % 5), np.random.default_rng(i).random((3, 3)) ** 3)
        for i in range(5)
    ),
)


@pytest.mark.parametrize(
    "engine",
    [TableImportance(n_draws=3000, tolerance=0.02), IteratedConditionalModes(n_starts=2)],
    ids=lambda engine: type(engine).__name__,
)
def test_chains_answer_the_same_however_many_run_at_once(engine, two_processes):
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        answers = {
            pickle.dumps(
                run(engine, RING, np.random.default_rng(3), chains=4, executor=pool).state
            )
            for pool in (None, one, two, two_processes)
        }
    assert len(answers) == 1


def test_four_chains_of_weighted_draws_are_worth_four():
    stop = Drawn(4000)
    one = run(TableImportance(), RING, np.random.default_rng(0), stop=stop)
    four = run(TableImportance(), RING, np.random.default_rng(0), stop=stop, chains=4)
    assert four.posterior.n_draws == 4 * one.posterior.n_draws
    assert_allclose(one.error / four.error, 2.0, rtol=0.1)
    states = np.indices((3,) * 5).reshape(5, -1).T
    density = np.exp(RING.log_density(states))
    assert (
        abs(four.log_evidence - np.log(density.sum())) < 4 * four.posterior.log_partition_error
    )
    for i, share in enumerate(four.posterior.probability):
        exact = [density[states[:, i] == k].sum() / density.sum() for k in range(3)]
        assert np.all(np.abs(share - exact) < 4.5 * four.posterior.standard_error[i])


class Memory:
    """A checkpoint in memory, which may end a run after some steps."""

    def __init__(self, most=None):
        self.kept, self.most = {}, most

    def load(self, chain):
        return self.kept.get(chain)

    def is_due(self, seconds):
        return True

    def save(self, chain, snapshot):
        self.kept[chain] = snapshot
        if self.most is not None and len(snapshot.trace) >= self.most:
            raise KeyboardInterrupt


@pytest.mark.parametrize("stopped_after", [1, 5, 10, 11, 60, 110])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(stopped_after):
    memory = Memory(stopped_after)
    with pytest.raises(KeyboardInterrupt):
        run(Walker(), None, np.random.default_rng(4), checkpoint=memory)
    memory.most = None
    other = np.random.default_rng(99)
    found = run(Walker(), None, other, checkpoint=memory)
    whole = run(Walker(), None, np.random.default_rng(4))
    assert_array_equal(found.posterior, whole.posterior)
    assert found.trace == whole.trace


def test_a_checkpoint_of_other_settings_is_refused():
    memory = Memory()
    run(Halving(), 1.0, checkpoint=memory)
    with pytest.raises(ValueError, match="a checkpoint must be of the engine that goes on"):
        run(Halving(tolerance=0.2), 1.0, checkpoint=memory)


def test_a_checkpoint_of_another_problem_or_number_of_chains_is_refused():
    memory = Memory()
    engine = TableImportance(tolerance=0.02)
    run(engine, RING, np.random.default_rng(0), checkpoint=memory)
    others = FactorProblem(RING.n_states, (*RING.tables[:-1], RING.tables[0]))
    with pytest.raises(ValueError, match="a checkpoint must be of the problem"):
        run(engine, others, np.random.default_rng(0), checkpoint=memory)
    with pytest.raises(ValueError, match="a checkpoint must be of the problem"):
        run(engine, RING, np.random.default_rng(0), checkpoint=memory, chains=2)


def test_problems_with_other_numbers_have_other_fingerprints():
    same = FactorProblem(tuple(RING.n_states), tuple(RING.tables))
    assert fingerprint(same) == fingerprint(RING)
    table = RING.tables[0]
    values = table.values.copy()
    values[0, 0] = np.nextafter(values[0, 0], 1.0)
    moved = (replace(table, values=values), *RING.tables[1:])
    assert fingerprint(FactorProblem(RING.n_states, moved)) != fingerprint(RING)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "gibbs"}, "engine must be such as"),
        ({"engine": Walker}, "engine must be such as .* found the class Walker"),
        ({"rng": 0}, "rng must be such as"),
        ({"stop": "settled"}, "stop must be such as"),
        ({"stop": Settled}, "stop must be such as .* found the class Settled"),
        ({"executor": ProcessPoolExecutor}, "executor must be such as"),
        ({"checkpoint": "run.credo"}, "checkpoint must be such as"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(settings, said):
    right = {"engine": Walker(), "problem": None, "rng": np.random.default_rng(0)}
    with pytest.raises(TypeError, match=said):
        run(**(right | settings))


def test_a_rule_joins_rules_only():
    with pytest.raises(TypeError, match="unsupported operand"):
        Drawn(5) | 100


def test_a_generator_without_a_sequence_of_seeds_will_do():
    old = np.random.default_rng(np.random.RandomState(3))
    memory = Memory()
    found = run(Walker(), None, old, checkpoint=memory)
    assert found.status is Status.COMPLETE
    assert memory.kept[0].rng.random() is not None


def test_chains_that_reach_the_error_together_have_converged():
    engine = TableImportance(n_draws=4000, tolerance=0.0085)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run(engine, RING, np.random.default_rng(0), chains=4)
    assert found.status is Status.CONVERGED
    assert found.error <= 0.0085 < found.trace[-1].standard_error


def test_a_change_downhill_is_not_settled():
    assert Settled(0.1).status(Progress(1, Move(0.0, -5.0))) is None
    assert Settled(0.1).status(Progress(1, Move(0.0, -0.05))) is Status.CONVERGED


def test_a_stuck_run_that_is_loaded_is_still_stuck():
    memory = Memory()
    with pytest.warns(ConvergenceWarning):
        first = run(Stopping(), 1.0, checkpoint=memory)
    with pytest.warns(ConvergenceWarning):
        again = run(Stopping(), 1.0, checkpoint=memory)
    assert (again.status, again.trace) == (Status.STUCK, first.trace)


@pytest.mark.parametrize(
    ("rule", "step", "status"),
    [
        (Settled(0.1), Move(0.0, 0.1), Status.CONVERGED),
        (Settled(0.1), Move(0.0, 0.11), None),
        (Settled(0.1), Move(0.0, np.nan), None),
        (Settled(0.1, max_steps=3), Move(0.0, 0.2), Status.MAX_STEPS),
        (Drawn(10), DrawStep(0.0, 10), Status.COMPLETE),
        (Drawn(10), DrawStep(0.0, 9), None),
        (Steps(3), Step(0.0), Status.MAX_STEPS),
        (Steps(4), Step(0.0), None),
        (Seconds(2.0), Step(0.0), None),
        (Seconds(1.0), Step(0.0), Status.MAX_SECONDS),
        (Steps(3) | Seconds(1.0), Step(0.0), Status.MAX_STEPS),
        (Steps(9) | Drawn(5), DrawStep(0.0, 7), Status.COMPLETE),
    ],
)
def test_a_rule_says_when_and_why(rule, step, status):
    assert rule.status(Progress(3, step, False, 1.5)) is status


def test_a_standard_error_is_reached_or_draws_are_used_up():
    @dataclass(frozen=True)
    class Drawing(DrawStep):
        standard_error: float

    rule = StandardError(0.01, 100)
    reached = [Drawing(0.0, 50, 0.01), Drawing(0.0, 100, 0.02), Drawing(0.0, 99, 0.02)]
    assert [rule.status(Progress(1, step)) for step in reached] == [
        Status.CONVERGED,
        Status.MAX_DRAWS,
        None,
    ]


def test_rules_are_values_that_join():
    rule = Drawn(5, warm_up=3) | Seconds(9) | Steps(2)
    assert rule == FirstOf((Drawn(5, 3), Seconds(9), Steps(2)))
    assert rule.n_warm_up == 3
    assert replace(Settled(), tolerance=1.0) == Settled(1.0)


def test_a_rule_that_an_engine_cannot_serve_is_refused():
    with pytest.raises(TypeError, match="steps report n_draws; found a Move"):
        run(Halving(), 1.0, stop=Drawn(10))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Settled(-1.0),
        lambda: Settled(max_steps=0),
        lambda: Drawn(0),
        lambda: Drawn(1, warm_up=-1),
        lambda: StandardError(-0.1, 10),
        lambda: StandardError(0.1, 0),
        lambda: Steps(0),
        lambda: Seconds(-1),
    ],
)
def test_settings_of_rules_out_of_range_are_refused(make):
    with pytest.raises(ValueError, match="must be"):
        make()


@pytest.mark.parametrize(
    ("engine", "problem", "said"),
    [
        (TableImportance(), small_problem(), "FactorProblem for .* found a IsingProblem"),
        (IsingMeanField(), RING, "IsingProblem for IsingMeanField; found a FactorProblem"),
        (LaplaceApproximation(), RING, "CurvedProblem for .* without start"),
        (ExpectationMaximization(), None, "LatentProblem for .* found a NoneType, without"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_problem_of_another_kind_is_refused_before_any_work(engine, problem, said):
    with pytest.raises(TypeError, match=said):
        run(engine, problem, np.random.default_rng(0))


def interrupting(after):
    """Return what interrupts this process as people do, after some steps."""

    def on_step(n, step):
        if n == after:
            thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
            thread.start()
            thread.join()
            time.sleep(10.0)

    return on_step


DRAWING = [
    example
    for example in every_example("inference")
    if hasattr(example.it, "joined") and "n_draws" in {part.name for part in fields(example.it)}
]


def quietly(*arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(*arguments, **settings)


@pytest.mark.parametrize("example", DRAWING, ids=named)
@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_an_interrupted_engine_answers_with_the_draws_it_has(example, n_steps):
    engine, problem = example.it, example.arguments.get("problem", INDEPENDENT)
    whole = quietly(engine, problem, np.random.default_rng(0))
    if len(whole.trace) <= n_steps:
        return
    # Where the warm-up has just ended, its draws are all that there is.
    same = quietly(engine, problem, np.random.default_rng(0), stop=Steps(n_steps))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = run(engine, problem, np.random.default_rng(0), on_step=interrupting(n_steps))
    assert any(f"was interrupted after {n_steps} steps" in str(w.message) for w in said)
    assert found.status is Status.INTERRUPTED
    assert found.trace == same.trace[:n_steps] == whole.trace[:n_steps]
    if len(same.trace) == n_steps:
        assert fingerprint(found.state) == fingerprint(same.state)


def test_an_interrupt_inside_a_step_leaves_the_step_out_and_can_be_gone_on_from():
    walker, memory = Walker(), Memory()
    whole = run(walker, None, np.random.default_rng(4))

    @dataclass(frozen=True)
    class Interrupted(Walker):
        def step(self, problem, state, rng):
            after = super().step(problem, state, rng)
            if len(state) == 41:
                interrupting(0)(0, None)
            return after

    with pytest.warns(ConvergenceWarning, match="was interrupted after 50 steps"):
        found = run(Interrupted(), None, np.random.default_rng(4), checkpoint=memory)
    assert_array_equal(found.posterior, whole.posterior[:41])
    memory.kept[0] = replace(memory.kept[0], engine=walker)
    again = run(walker, None, np.random.default_rng(0), checkpoint=memory)
    assert_array_equal(again.posterior, whole.posterior)


def test_an_interrupt_before_the_first_draw_or_of_a_search_is_passed_on():
    @dataclass(frozen=True)
    class Early(Walker):
        def init(self, problem, rng):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Early(), None, np.random.default_rng(0))
    with pytest.raises(KeyboardInterrupt):
        run(Halving(tolerance=0.0), 1.0, on_step=interrupting(3))


@pytest.mark.parametrize(("n_steps", "n_draws"), [(40, 30), (5, 5)])
def test_of_interrupted_chains_those_answer_that_have_come_furthest(n_steps, n_draws):
    """The first of three has drawn a hundred, the second little, the third nothing."""
    count = iter(range(10**6))
    after = 110 + n_steps

    def on_step(n, step):
        if next(count) + 1 == after:
            raise KeyboardInterrupt

    first = run(Walker(), None, np.random.default_rng(4).spawn(3)[0])
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        found = run(Walker(), None, np.random.default_rng(4), chains=3, on_step=on_step)
    assert found.status is Status.INTERRUPTED
    assert_array_equal(found.posterior, first.posterior)


@dataclass(frozen=True)
class Slow(Walker):
    """A chain that takes a minute unless it is halted; ``then`` is called after its steps."""

    then: Callable[[int], None] = lambda n: None
    stop = Drawn(30_000, warm_up=10)

    def step(self, problem, state, rng):
        time.sleep(0.002)
        after = super().step(problem, state, rng)
        self.then(len(after[0]))
        return after


@pytest.fixture(params=[True, False], ids=["ends waits", "ends no waits"])
def _signal(request):
    """Let an interrupt end what waits in the system, or not, as where polars was used."""
    signal.siginterrupt(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.usefixtures("_signal")
def test_chains_in_threads_are_halted_together():
    # Both chains have begun once a second one has come as far.
    far = iter(range(10**6))

    def interrupt(n):
        if n == 50 and next(far) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    engine = Slow(then=interrupt)
    with ThreadPoolExecutor(2) as pool, pytest.warns(ConvergenceWarning, match="interrupted"):
        found = run(engine, None, np.random.default_rng(4), chains=2, executor=pool)
    assert found.status is Status.INTERRUPTED
    ends = [
        quietly(Slow(), None, rng, stop=Steps(20)) for rng in np.random.default_rng(4).spawn(2)
    ]
    starts = [end.posterior[1] for end in ends]
    assert found.posterior[0] == starts[0]
    assert starts[1] in found.posterior


class Interrupting(ThreadPoolExecutor):
    """An executor that is interrupted while a second chain is begun."""

    def submit(self, work, *arguments):
        future = super().submit(work, *arguments)
        if getattr(self, "first", None) is not None:
            raise KeyboardInterrupt
        self.first = future
        time.sleep(0.2)
        return future


def test_chains_are_halted_when_the_interrupt_comes_while_they_are_begun():
    with Interrupting(2) as pool, pytest.warns(ConvergenceWarning, match="interrupted"):
        found = run(Slow(), None, np.random.default_rng(4), chains=2, executor=pool)
    assert found.status is Status.INTERRUPTED
    assert 1 < len(found.trace) < 30_000


def test_a_chain_that_fails_halts_the_others_and_is_heard_of_at_once():
    reached = []

    def fail(n):
        reached.append(n)
        if threading.current_thread().name.endswith("_1") and n == 5:
            raise ZeroDivisionError

    with ThreadPoolExecutor(2, "chain") as pool, pytest.raises(ZeroDivisionError):
        run(Slow(then=fail), None, np.random.default_rng(4), chains=2, executor=pool)
    assert max(reached) < 1000
