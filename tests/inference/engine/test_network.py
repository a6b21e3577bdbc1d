"""The one rule of networks: exact where that fits, else the first way that answers."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

from credo.inference.discrete.approximate.gibbs import TableGibbs
from credo.inference.engine.engine import EXACT, Account
from credo.inference.engine.error import AnswerTooLarge, InferenceTooLarge, NoExactAnswer
from credo.inference.engine.findings import Findings
from credo.inference.engine.method import ApproximationWarning
from credo.inference.engine.network import Auto, PlanReport, exact_or
from credo.inference.hybrid.likelihood_weighting import ConditionalProblem, LikelihoodWeighting

TOO_LARGE = InferenceTooLarge(3, 100, 800, 10.0)
ROUGH = Account("rough", False, 0.1, "standard error")
NOTHING = Findings(1)
ASKED = {
    "marginals": (NOTHING, ["a"]),
    "joint": (NOTHING, ["a"]),
    "total": (NOTHING,),
    "best": (NOTHING, ["a"]),
}


@dataclass
class Exact:
    """Answers with its own name, or raises."""

    error: Exception | None = None

    def _answer(self):
        if self.error is not None:
            raise self.error
        return "exact", np.zeros(1), EXACT

    def marginals(self, findings, names):
        return self._answer()

    joint = best = marginals

    def total(self, findings):
        return self._answer()[1:]

    def draws(self, findings, n_draws, rng):
        return self._answer()[:2]

    def report(self, names, observed):
        self._answer()
        return PlanReport(1, 2, 3, 4.0, True)


@dataclass
class Rough(Exact):
    """An approximation that remembers how it was asked."""

    name: str = "rough"
    problem: type | None = None
    questions: tuple[str, ...] = ("marginals", "total", "mode", "draws")
    account: Account = ROUGH
    seen: list = field(default_factory=list)

    def _answer(self):
        super()._answer()
        return self.name, np.zeros(1), self.account

    def note(self, question):
        return f"{question} by {self.name}"

    def by(self, engine):
        self.seen.append(engine)
        return self

    def after(self, error):
        self.seen.append(error)
        return self

    def report(self, names, observed):
        return PlanReport(0, 0, 0, 0.0, True, is_exact=False)


@pytest.mark.parametrize("verb", ASKED)
def test_what_fits_is_exact_and_silent_whatever_else_there_is(verb):
    auto = Auto(Exact(), (Rough(),), "tables")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(auto, verb)(*ASKED[verb])[-1] is EXACT
        assert getattr(auto, verb)(*ASKED[verb], method="exact")[-1] is EXACT


@pytest.mark.parametrize("verb", ASKED)
def test_what_does_not_fit_is_approximate_with_a_warning_that_tells_the_cost(verb):
    rough = Rough()
    auto = Auto(Exact(TOO_LARGE), (rough,), "tables")
    with pytest.warns(ApproximationWarning, match="by rough: a plan of width 3"):
        assert getattr(auto, verb)(*ASKED[verb])[-1] is ROUGH
    assert rough.seen == [TOO_LARGE]


@pytest.mark.parametrize("verb", ASKED)
def test_exact_by_name_is_exact_or_an_error(verb):
    auto = Auto(Exact(TOO_LARGE), (Rough(),), "tables")
    with pytest.raises(InferenceTooLarge):
        getattr(auto, verb)(*ASKED[verb], method="exact")


def test_an_answer_that_no_method_could_hold_is_an_error_for_all():
    auto = Auto(Exact(AnswerTooLarge(3, 100, 800, 10.0)), (Rough(),), "tables")
    with pytest.raises(AnswerTooLarge):
        auto.joint(NOTHING, ["a"])


def test_nodes_without_algebra_are_drawn_without_a_warning():
    auto = Auto(Exact(NoExactAnswer(["a"])), (Rough(),), "tables")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert auto.marginals(NOTHING, ["a"])[0] == "rough"
        assert not auto.report(["a"], []).is_exact
    with pytest.raises(NoExactAnswer):
        auto.marginals(NOTHING, ["a"], "exact")


def test_an_approximation_that_turns_out_exact_is_no_reason_to_warn():
    auto = Auto(Exact(TOO_LARGE), (Rough(account=EXACT),), "tables")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert auto.best(NOTHING, ["a"])[-1] is EXACT


def test_the_first_way_that_answers_the_question_is_taken():
    silent = Rough(name="silent", questions=("total",))
    stuck = Rough(TOO_LARGE.advising("Ask for less."), name="stuck")
    auto = Auto(Exact(TOO_LARGE), (silent, stuck, Rough()), "tables")
    with pytest.warns(ApproximationWarning, match="mode by rough"):
        assert auto.best(NOTHING, ["a"])[0] == "rough"
    with pytest.warns(ApproximationWarning, match="draws by rough"):
        assert auto.draws(NOTHING, 3, np.random.default_rng(0))[0] == "rough"
    assert not silent.seen
    with pytest.raises(InferenceTooLarge, match=r"Ask for less\."):
        Auto(Exact(TOO_LARGE), (silent, stuck), "tables").best(NOTHING, ["a"])


def test_an_engine_goes_to_the_way_that_solves_its_problem():
    tables, draws = Rough(), Rough(name="draws", problem=ConditionalProblem)
    auto = Auto(Exact(), (tables, draws), "a Bayesian network")
    assert auto.marginals(NOTHING, ["a"], TableGibbs(n_draws=77))[0] == "rough"
    assert tables.seen == [TableGibbs(n_draws=77)]
    assert auto.marginals(NOTHING, ["a"], "likelihood_weighting")[0] == "draws"
    assert draws.seen == [LikelihoodWeighting()]
    alone = Auto(Exact(), (draws,), "a network with real variables")
    with pytest.raises(ValueError, match="for a network with real variables; found 'gibbs'"):
        alone.marginals(NOTHING, ["a"], "gibbs")


def test_the_rule_itself_gives_the_error_to_the_other_way():
    def refused():
        raise TOO_LARGE

    assert exact_or("auto", refused, lambda error: error) is TOO_LARGE
    with pytest.raises(InferenceTooLarge):
        exact_or("exact", refused, lambda error: error)
