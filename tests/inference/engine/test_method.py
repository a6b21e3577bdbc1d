import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import credo
from credo.inference import (
    GraphCut,
    IsingGibbs,
    LikelihoodWeighting,
    LoopyBeliefPropagation,
    TableGibbs,
    TableImportance,
    methods,
)
from credo.inference.engine.engine import Account, worst
from credo.inference.engine.method import (
    ApproximationWarning,
    engine_for,
    engine_of,
    named_engines,
    problem_of,
    question_for,
    tells_total,
    warn_approximate,
)
from credo.inference.spins.problem import IsingProblem

SOURCE = Path(str(credo.__file__)).parent
GOOD = Account("a", True, 0.0)
BAD = Account("b", False, 0.1, "error", 500.0)
WORSE = Account("b", False, 0.3, "error", 100.0)


@dataclass(frozen=True)
class Silent:
    """An engine that says nothing about itself."""

    def init(self, problem, rng): ...
    def step(self, problem, state, rng): ...
    def posterior(self, problem, state): ...


@pytest.mark.parametrize("question", ["marginals", "total", "mode"])
def test_a_name_stands_for_the_first_example_that_answers(question):
    for name in methods(question)[2:]:
        engine = engine_of(name, question)
        same = [getattr(e, "it", e) for e in type(engine).examples()]
        answers = [e for e in same if {question, "bound"} & set(e.answers)]
        assert engine == answers[0]


def test_one_name_stands_for_sums_or_maxima_as_the_question_wants():
    assert engine_of("belief_propagation", "marginals") == LoopyBeliefPropagation("sum")
    assert engine_of("belief_propagation", "mode") == LoopyBeliefPropagation("max")
    assert engine_of("max_flow", "mode") == GraphCut()


def test_names_are_of_one_class_for_each_kind_of_problem():
    classes = {(e.name, problem_of(e)): type(e) for e in named_engines()}
    assert all(classes[e.name, problem_of(e)] is type(e) for e in named_engines())
    assert {problem_of(e) for e in named_engines() if e.name == "gibbs"} == {None, IsingProblem}
    assert not {"auto", "exact"} & {e.name for e in named_engines()}


def test_names_of_methods_are_checked_in_one_place():
    """Elsewhere a method is compared with "auto" and "exact" alone, which are no engines."""
    rooms = ("inference", "models/network", "models/spins", "app")
    paths = [path for room in rooms for path in (SOURCE / room).rglob("*.py")]
    looks = re.compile(
        r"(?<!\.)\bmethod (?:==|!=|in|not in) (?!\"(?:auto|exact)\")|named_engines\("
    )
    places = {
        path.relative_to(SOURCE).as_posix()
        for path in paths
        if looks.search(path.read_text(encoding="utf-8"))
    }
    assert places == {"inference/engine/method.py"}


def test_a_name_stands_for_the_engine_of_the_problem_at_hand():
    assert isinstance(
        engine_for("gibbs", "marginals", (IsingProblem, None), "spins"), IsingGibbs
    )
    assert isinstance(engine_for("gibbs", "marginals", (None,), "tables"), TableGibbs)
    assert isinstance(
        engine_for("importance", "marginals", (IsingProblem, None), "spins"), TableImportance
    )
    with pytest.raises(ValueError, match="for tables; found 'annealing'"):
        engine_for("annealing", "total", (None,), "tables")


def test_an_old_name_stands_for_the_same_engine():
    for problem in (None, IsingProblem):
        old, new = (
            engine_for(name, "mode", (problem,), "x") for name in ("icm", "conditional_modes")
        )
        assert old == new
    assert "icm" not in methods("mode")


def test_a_method_tells_which_of_some_questions_it_answers():
    both = ("marginals", "mode")
    assert question_for("icm", both, (None,), "tables") == "mode"
    assert question_for("gibbs", both, (None,), "tables") == "marginals"
    assert question_for("auto", both, (None,), "tables") == "marginals"
    with pytest.raises(ValueError, match=r"'gibbs', .*'max_flow'.* for tables; found 'foo'"):
        question_for("foo", both, (None,), "tables")


def test_an_engine_is_its_own_method_and_needs_no_name():
    engine = Silent()
    assert all(engine_of(engine, q) is engine for q in ("marginals", "total", "mode"))
    assert tells_total(engine)


def test_an_engine_is_refused_what_it_does_not_tell():
    with pytest.raises(ValueError, match=r"log partition must come .*TableGibbs, which tells"):
        engine_of(TableGibbs(), "total")
    with pytest.raises(ValueError, match=r'method="max_flow", which tells mode only'):
        engine_of("max_flow", "marginals")
    with pytest.raises(ValueError, match=r"a distribution must .*LoopyBeliefPropagation"):
        engine_of(LoopyBeliefPropagation("max"), "marginals")


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (TableGibbs, r"found the class TableGibbs\. Write TableGibbs\(\)\."),
        (3, r"found 3\. Pass the name"),
        (None, r"found None\. Pass the name"),
    ],
)
def test_what_is_neither_a_name_nor_an_engine_is_refused(method, said):
    with pytest.raises(TypeError, match=f"method must be a name, or an engine.*{said}"):
        engine_of(method, "marginals")


def test_a_bound_answers_for_the_total_and_does_not_tell_it():
    assert engine_of("mean_field", "total").name == "mean_field"
    told = {name: tells_total(name) for name in methods()}
    assert not told["gibbs"]
    assert not told["mean_field"]
    assert told["importance"]
    assert told["exact"]
    assert tells_total(LikelihoodWeighting(n_draws=10))


def test_the_account_of_several_answers_is_that_of_the_worst():
    assert GOOD.worse(BAD) == BAD
    assert BAD.worse(GOOD) == BAD
    assert BAD.worse(WORSE) == WORSE
    assert WORSE.worse(BAD) == WORSE
    assert worst([GOOD, WORSE, BAD]) == WORSE
    assert worst([]) == Account("exact", True, 0.0, "exact")


def test_an_error_that_is_not_known_is_the_worst_whatever_the_order():
    unknown = Account("c", False, float("nan"), "unknown")
    assert BAD.worse(unknown).method == unknown.worse(BAD).method == "c"


def test_the_fewest_draws_of_any_row_are_told():
    rare = Account("b", False, 0.05, "error", 10.0)
    assert BAD.worse(rare).effective_draws == rare.worse(BAD).effective_draws == 10.0
    assert BAD.worse(rare).error == BAD.error


def test_attributes_leave_out_what_is_not_known():
    assert BAD.attrs()["effective_draws"] == 500.0
    assert "effective_draws" not in GOOD.attrs()


def test_the_warning_tells_how_to_get_an_error_instead():
    with pytest.warns(ApproximationWarning, match=r"^too wide\. Pass method=\"exact\""):
        warn_approximate("too wide")
