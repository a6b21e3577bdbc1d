"""Questions whose plan is kept: the short way gives what the long way gives, to the bit."""

import pickle

import numpy as np
import pytest
from pandas.testing import assert_series_equal

from credo.data.sets.example_network import load_example_network
from credo.graphs.variable import UnknownState
from credo.inference.engine.error import ImpossibleFindings


def plans(net):
    return net.answers().exact.tables.plans


def asked_twice(net, target, given):
    net.query(target, given)
    return net.query(target, given)


@pytest.mark.parametrize("seed", range(5))
def test_questions_asked_again_about_other_states_are_answered_as_by_a_new_network(seed):
    net, rng = load_example_network("alarm"), np.random.default_rng(seed)
    names = rng.permutation(list(net.variables))[:5].tolist()
    for _, case in net.sample(6, rng=rng).iterrows():
        given = {name: case[name] for name in names[1:]}
        expected = load_example_network("alarm").query(names[0], given)
        assert_series_equal(net.query(names[0], given), expected)
    assert len([key for key in plans(net)._plans if key.kind == "joint"]) == 1


@pytest.mark.parametrize("name", ["asia", "alarm"])
def test_the_short_way_and_the_long_way_give_the_same_bits(name, monkeypatch):
    net = load_example_network(name)
    target, *known = list(net.variables)[:4]
    given = {each: net.variables[each].labels[0] for each in known}
    long = net.query(target, given)
    taken = []
    monkeypatch.setattr(type(net), "_findings_and_engine", lambda *_: taken.append("long"))
    short = net.query(target, given)
    assert not taken
    assert_series_equal(short, long, check_exact=True)
    assert short.attrs == long.attrs


def test_the_order_of_findings_does_not_matter():
    net = load_example_network("asia")
    first = asked_twice(net, "lung", {"smoke": "yes", "dysp": "no"})
    assert_series_equal(asked_twice(net, "lung", {"dysp": "no", "smoke": "yes"}), first)
    other = asked_twice(net, "lung", {"dysp": "yes", "smoke": "no"})
    assert abs(other["yes"] - first["yes"]) > 1e-3


def test_what_the_short_way_cannot_tell_goes_the_long_way():
    net = load_example_network("asia")
    asked_twice(net, "smoke", {"lung": "yes", "either": "yes"})
    with pytest.raises(ImpossibleFindings) as caught:
        net.query("smoke", {"lung": "yes", "either": "no"})
    assert caught.value.conflict == {"lung": "yes", "either": "no"}
    with pytest.raises(UnknownState, match="Did you mean 'yes'"):
        net.query("smoke", {"lung": "yess", "either": "yes"})
    vague = net.query("smoke", {"lung": {"yes": 0.5, "no": 0.5}, "either": "yes"})
    assert_series_equal(vague, load_example_network("asia").query("smoke", {"either": "yes"}))
    gap = net.query("smoke", {"lung": None, "either": "yes"})
    assert_series_equal(gap, vague)
    certain = asked_twice(net, "lung", {"lung": "yes"})
    assert certain.to_dict() == {"yes": 1.0, "no": 0.0}


def test_a_plan_that_was_dropped_for_memory_is_made_again():
    net = load_example_network("asia")
    expected = asked_twice(net, "lung", {"smoke": "yes"})
    plans(net)._plans.clear()
    assert_series_equal(net.query("lung", {"smoke": "yes"}), expected)
    assert len(plans(net)) == 1


def test_no_plan_outlives_the_cache_of_plans():
    """A question keeps no plan alive beside the one cache, which has a limit."""
    net = load_example_network("alarm")
    for target in list(net.variables)[:70]:
        asked_twice(net, target, {})
    assert len(plans(net)) <= plans(net).max_plans
    assert not [name for name in vars(net) if "cache" in name or "quer" in name]


def test_plans_stay_behind_when_a_network_travels_or_gets_other_limits():
    net = load_example_network("asia")
    asked_twice(net, "lung", {"smoke": "yes"})
    for other in (pickle.loads(pickle.dumps(net)), net.within(memory="1GB")):
        assert len(plans(other)) == 0
        assert_series_equal(
            asked_twice(other, "lung", {"smoke": "yes"}), net.query("lung", {"smoke": "yes"})
        )


def test_interventions_and_named_methods_are_not_taken_for_findings():
    net = load_example_network("asia")
    given = asked_twice(net, "smoke", {"lung": "yes"})
    done = net.query("smoke", do={"lung": "yes"})
    assert given["yes"] > 0.9
    assert done.to_dict() == pytest.approx({"yes": 0.5, "no": 0.5})
    drawn = net.query("smoke", {"lung": "yes"}, method="likelihood_weighting")
    assert drawn.attrs["method"] == "likelihood weighting"
