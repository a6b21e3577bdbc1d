import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from credo.graphs.variable import UnknownVariable
from credo.inference.engine.engine import ConvergenceWarning, run
from credo.inference.engine.error import InferenceTooLarge, NotSubmodular
from credo.inference.engine.method import ApproximationWarning
from credo.inference.spins import spin_engine
from credo.inference.spins.annealing import IsingAnnealing
from credo.inference.spins.sweep_engine import IsingGibbs, IsingMeanField
from credo.models.spins.ising_model import (
    BitFlip,
    GaussianNoise,
    IsingModel,
    as_noise,
    check_levels,
    lattice_edges,
    noise_beyond,
)

MEANS = [0.4709093838, -0.0657751583, 0.3033787388, 0.6615567220]
RNG = np.random.default_rng(0)


def worked():
    """Return the posterior of the worked cycle: L_i(1) = -L_i(-1) = 0.5, -0.3, 0.1, 0.8."""
    prior = IsingModel([(0, 1), (1, 3), (3, 2), (2, 0)], coupling=0.2)
    level = np.array([0.5, -0.3, 0.1, 0.8])
    return prior.observe(level, noise=lambda y, x: x * y)


def all_spins(shape):
    n = int(np.prod(shape))
    return (2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1).reshape(-1, *shape)


def test_the_worked_sum_means_and_mode_come_out():
    model = worked()
    assert_allclose(model.log_partition(), 3.2902335863, atol=1e-10)
    assert_allclose(model.mean("exact"), MEANS, atol=1e-10)
    assert_array_equal(model.most_probable(), [1, 1, 1, 1])
    assert_allclose(model.energy([1, 1, 1, 1]), -1.9)


def test_the_worked_observation_model_adds_half_the_difference_to_the_field():
    assert_allclose(worked().field, [0.5, -0.3, 0.1, 0.8])
    assert worked().log_constant == 0.0


def test_the_worked_conditional_probability_comes_out():
    model = worked()
    up, down = model.log_density([[1, 1, 1, 1], [-1, 1, 1, 1]])
    assert_allclose(1 / (1 + np.exp(down - up)), 0.8581489351, atol=1e-10)


def test_the_worked_mean_field_comes_out():
    inference = worked().infer(IsingMeanField(tolerance=1e-12))
    assert_allclose(inference.posterior.mean[0], 0.5028992327, atol=1e-10)
    assert_allclose(inference.log_evidence, 3.2399131495, atol=1e-10)


def test_a_two_by_two_grid_is_the_cycle():
    grid = IsingModel((2, 2), 0.2).observe([[0.5, -0.3], [0.1, 0.8]], noise=1.0)
    assert_allclose(grid.mean("exact").ravel(), MEANS, atol=1e-10)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (3, 3), (7,), (2, 2, 2)])
def test_probabilities_of_all_states_sum_to_one(shape, periodic):
    n = int(np.prod(shape))
    model = IsingModel(shape, 0.4, RNG.normal(size=shape), periodic)
    p = np.exp(model.log_prob(all_spins(shape)))
    assert p.shape == (2**n,)
    assert_allclose(p.sum(), 1.0)
    exact = np.tensordot(p, all_spins(shape), axes=1)
    assert_allclose(model.mean("exact"), exact, atol=1e-12)


def test_gibbs_agrees_with_exact_means_on_every_kind_of_structure():
    graph = nx.petersen_graph()
    models = [
        IsingModel((4, 4), 0.3, 0.2),
        IsingModel((4, 6), 0.3, 0.2, periodic=True),
        IsingModel((3, 5), 0.3, 0.2, periodic=True),
        IsingModel((3, 3, 2), 0.2, 0.2),
        IsingModel(graph, -0.3, RNG.normal(size=10)),
        IsingModel((3, 4), RNG.normal(0.0, 0.4, size=17), 0.1),
    ]
    for model in models:
        answer = model.infer(IsingGibbs(n_chains=6, n_draws=2000), rng=5)
        found = answer.posterior
        off = np.abs(found.mean - model.mean("exact").ravel())
        assert np.all(off < 4.5 * found.standard_error), repr(model)
        assert answer.error < 0.03


def test_evidence_of_observations_is_the_rise_of_the_log_normalizer():
    prior = IsingModel((2, 3), 0.5, 0.1)
    y = RNG.normal(size=(2, 3))
    posterior = prior.observe(y, noise=0.8)
    x = all_spins((2, 3))
    density = -0.5 * ((y - x) / 0.8) ** 2 - np.log(0.8) - 0.5 * np.log(2 * np.pi)
    joint = prior.log_prob(x) + density.sum(axis=(1, 2))
    evidence = np.logaddexp.reduce(joint)
    assert_allclose(posterior.log_partition() - prior.log_partition(), evidence)
    assert_allclose(posterior.log_prob(x), joint - evidence)


def test_observing_twice_is_observing_the_product_of_likelihoods():
    prior = IsingModel((2, 2), 0.3)
    y = np.array([[1, -1], [1, 1]])
    twice = prior.observe(y, BitFlip(0.2)).observe(-y, BitFlip(0.1))
    odds = 0.5 * np.log(0.8 / 0.2) - 0.5 * np.log(0.9 / 0.1)
    assert_allclose(twice.field, y * odds)
    assert_allclose(twice.log_constant, 4 * 0.5 * np.log(0.2 * 0.8 * 0.1 * 0.9))


def test_a_missing_observation_tells_nothing():
    prior = IsingModel((2, 2), 0.3, 0.2)
    y = np.array([[1.0, np.nan], [-1.0, np.nan]])
    for noise in [0.5, BitFlip(0.1), lambda y, x: x * y]:
        posterior = prior.observe(y, noise)
        assert_allclose(posterior.field[:, 1], 0.2)
        assert np.isfinite(posterior.log_constant)


def test_max_flow_finds_the_mode_and_conditional_modes_no_better():
    shape = (4, 4)
    for _ in range(5):
        model = IsingModel(shape, 0.6, RNG.normal(size=shape))
        level = model.log_density(all_spins(shape))
        best = all_spins(shape)[level.argmax()]
        assert_array_equal(model.most_probable(), best)
        assert_array_equal(model.most_probable("exact"), best)
        assert model.energy(model.most_probable("icm")) >= model.energy(best)


def test_an_antiferromagnet_has_an_exact_mode_but_no_cut():
    model = IsingModel((3, 3), -1.0, field=0.01)
    checkerboard = 1 - 2 * (np.indices((3, 3)).sum(axis=0) % 2)
    assert_array_equal(model.most_probable("exact"), checkerboard)
    assert_array_equal(model.most_probable(), checkerboard)
    with pytest.raises(NotSubmodular, match='method="exact"'):
        model.most_probable("max_flow")


def test_exact_and_gibbs_draws_have_the_exact_means():
    model = IsingModel((3, 3), 0.3, 0.1)
    exact = model.mean("exact")
    n = 4000
    for method in ["auto", "exact", "gibbs"]:
        draws = model.sample(n, rng=1, method=method)
        assert draws.shape == (n, 3, 3)
        assert np.all(np.abs(draws.mean(axis=0) - exact) < 4.5 / np.sqrt(n))


@pytest.mark.parametrize("coupling", [0.2, 0.35])
def test_the_energy_of_a_large_periodic_grid_is_that_of_the_closed_form(coupling):
    # Energy per spin of the infinite grid without field, by the complete elliptic integral.
    twice = 2 * coupling
    modulus = 2 * np.sinh(twice) / np.cosh(twice) ** 2
    share = 2 / np.pi * (2 * np.tanh(twice) ** 2 - 1) * special.ellipk(modulus**2)
    expected = -coupling / np.tanh(twice) * (1 + share)
    model = IsingModel((128, 128), coupling, periodic=True)
    draws = model.sample(60, rng=0, method="gibbs", burn_in=300, n_between=30)
    energy = model.energy(draws) / 128**2
    error = energy.std(ddof=1) / np.sqrt(60)
    assert error < 0.002
    assert abs(energy.mean() - expected) < 4.5 * error


def test_denoising_a_disk_makes_few_errors_with_every_method():
    rows, columns = np.indices((48, 48)) - 23.5
    truth = np.where(rows**2 + columns**2 < 18**2, 1, -1)
    noisy = truth + RNG.normal(size=truth.shape)
    model = IsingModel(truth.shape, 1.0)
    rate = {
        method: np.mean(model.denoise(noisy, 1.0, method) != truth)
        for method in ["gibbs", "mean_field", "max_flow", "icm"]
    }
    assert np.mean(np.sign(noisy) != truth) > 0.13
    assert max(rate["gibbs"], rate["mean_field"], rate["max_flow"]) < 0.02
    assert rate["icm"] < 0.04


def test_levels_of_gray_are_told_to_the_noise():
    truth = np.where(np.indices((16, 16))[0] < 8, 1, -1)
    gray = 100.0 + 50.0 * (truth > 0) + 10.0 * RNG.normal(size=truth.shape)
    noise = GaussianNoise(scale=10.0, low=100.0, high=150.0)
    assert_array_equal(IsingModel((16, 16), 0.5).denoise(gray, noise, "max_flow"), truth)


@pytest.mark.parametrize("coupling", [0.0, 1.0, 500.0])
def test_fields_and_couplings_of_any_size_neither_overflow_nor_mislead(coupling):
    sign = np.where(np.arange(16).reshape(4, 4) < 8, 1.0, -1.0)
    model = IsingModel((4, 4), coupling, 3000.0 * sign)
    for method in ["gibbs", "mean_field", "exact"]:
        assert_allclose(model.mean(method), sign)
    assert_array_equal(model.sample(3, rng=0, method="gibbs")[2], sign)
    assert_array_equal(model.most_probable(), sign)


def test_the_random_numbers_repeat_unless_told_otherwise():
    model = IsingModel((6, 6), 0.4, 0.1)
    first, again = model.mean("gibbs"), model.mean("gibbs")
    assert_array_equal(first, again)
    one, two = model.mean("gibbs", rng=1), model.mean("gibbs", rng=2)
    assert np.any(one != two)
    assert_array_equal(model.mean("gibbs", np.random.default_rng(1)), one)


def test_means_are_exact_where_that_is_quick_and_drawn_elsewhere():
    assert IsingModel((5, 200), 0.3).infer().evidence_method == "exact"
    with pytest.warns(ApproximationWarning, match="means of spins are averages"):
        assert IsingModel((40, 40), 0.3).infer().error_kind == "largest standard error"


def test_a_chain_of_spins_has_its_closed_form():
    n, w = 500, 0.9
    expected = n * np.log(2) + (n - 1) * np.log(np.cosh(w))
    assert_allclose(IsingModel(n, w).log_partition(), expected)
    ring = n * np.log(2 * np.cosh(w)) + np.log1p(np.tanh(w) ** n)
    assert_allclose(IsingModel(n, w, periodic=True).log_partition(), ring)


def test_names_of_spins_are_places_or_nodes():
    assert IsingModel((2, 2)).names == ("0,0", "0,1", "1,0", "1,1")
    named = IsingModel([("b", "a"), ("a", "c")], field={"a": 0.5})
    assert named.names == ("b", "a", "c")
    assert_allclose(named.field, [0.0, 0.5, 0.0])
    assert "3 spins, 2 edges" in repr(named)


def test_the_tables_of_the_markov_random_field_are_the_density():
    model = IsingModel((2, 2), 0.3, 0.2).observe([[1, -1], [1, 1]], BitFlip(0.2))
    field = model.to_markov_random_field()
    assert list(field.variables) == ["0,0", "0,1", "1,0", "1,1"]
    assert field.variables["0,0"].labels == (-1, 1)
    for x in all_spins((2, 2)):
        states = dict(zip(model.names, x.ravel().tolist(), strict=True))
        level = sum(
            float(factor.restrict({name: states[name] for name in factor.names}).log_table())
            for factor in field.factors
        )
        assert_allclose(level, model.log_density(x))


def test_verbs_of_networks_give_the_probabilities_of_enumeration():
    model = IsingModel((3, 3), 0.4, RNG.normal(size=(3, 3)))
    x = all_spins((3, 3))
    p = np.exp(model.log_prob(x))
    is_given = x[:, 1, 1] == -1
    given = {"1,1": -1}
    expected = p[is_given & (x[:, 0, 0] == 1)].sum() / p[is_given].sum()
    assert_allclose(model.query("0,0", given)[1], expected)
    assert_allclose(model.marginals(given)["0,0"][1], expected)
    assert_allclose(model.log_prob(given), np.log(p[is_given].sum()))
    total = np.logaddexp.reduce(model.log_density(x[is_given]))
    assert_allclose(model.log_partition(given), total)
    assert model.variables["2,2"].labels == (-1, 1)


def test_wide_grids_have_the_same_sum_by_tables_and_by_transfer(monkeypatch):
    model = IsingModel((7, 7), 0.4, 0.1)
    narrow = model.log_partition()
    monkeypatch.setattr(spin_engine, "QUICK_TABLE", 1)
    assert_allclose(model.log_partition(), narrow)
    monkeypatch.setattr(spin_engine, "LARGEST_TABLE", 1)
    assert_allclose(model.log_partition(method="exact"), narrow)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0, 3),), "positive lengths"),
        (([(0, 1), (1, 0)],), r"found \(1, 0\) twice"),
        (([(0, 0)],), "at one node"),
        (([(0, 1, 2)],), "pairs of nodes"),
        (((2, 2), [1.0, 2.0]), r"one for each edge, shape \(4,\)"),
        (((2, 2), np.nan), "with NaN or inf"),
        (((2, 2), 1.0, np.zeros(4)), r"one for each spin, shape \(2, 2\)"),
        (([(0, 1)], 1.0, {"7": 1.0}), "found '7'"),
        (([(0, 1)], 1.0, 0.0, True), "periodic must be False"),
        (([(1, "1"), ("1", 2)],), r"must differ when written as text.* found 1 and '1'"),
        ((nx.Graph([(1, "1")]),), "must differ when written as text"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        IsingModel(*arguments)


def test_impossible_questions_are_refused():
    model = IsingModel((2, 2))
    with pytest.raises(ValueError, match="must have the shape of the spins"):
        model.observe(np.zeros(4))
    with pytest.raises(ValueError, match="other values"):
        model.energy([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="method must be one of"):
        model.mean("gibs")
    with pytest.raises(ValueError, match="method must be one of"):
        model.most_probable("maxflow")
    with pytest.raises(ValueError, match=r"method must be one of .* found 'gibs'.*'gibbs'"):
        model.sample(2, method="gibs")
    with pytest.raises(ValueError, match="must be finite"):
        model.observe(np.ones((2, 2)), lambda y, x: np.where(x > 0, 0.0, -np.inf) + 0 * y)


def test_an_engine_that_did_not_settle_says_so():
    model = IsingModel((8, 8), 1.0, RNG.normal(size=(8, 8)))
    with pytest.warns(ConvergenceWarning):
        model.infer(IsingMeanField(max_steps=1))


def test_exact_answers_that_do_not_fit_say_so_before_work():
    with pytest.raises(MemoryError, match="width"):
        IsingModel((200, 200)).mean("exact")


def test_an_exact_answer_too_large_for_the_memory_allowed_says_how_to_allow_more():
    model = IsingModel((4, 4), coupling=0.3, field=0.1)
    narrow = model.within(memory=1000)
    with pytest.raises(InferenceTooLarge, match=r"found a plan of width.*within\(memory="):
        narrow.mean(method="exact")
    with pytest.raises(InferenceTooLarge):
        narrow.most_probable(method="exact")
    with pytest.warns(ApproximationWarning):
        assert_allclose(narrow.mean(rng=0), model.mean(method="exact"), atol=0.05)
    wide = narrow.within(memory="1GB")
    assert_allclose(wide.mean(method="exact"), model.mean(method="exact"))
    assert_allclose(wide.log_partition(), model.log_partition())
    assert narrow.observe(np.zeros((4, 4))).limits.memory == 1000
    assert model.limits.memory is None


def test_the_named_spins_keep_to_the_memory_allowed():
    narrow = IsingModel((6, 6), coupling=0.3).within(memory=200, seconds=1e-12)
    with pytest.raises(InferenceTooLarge):
        narrow.query("0,0", method="exact")
    with pytest.raises(InferenceTooLarge):
        narrow.log_partition(method="exact")


def test_log_z_of_a_wide_grid_is_estimated_with_a_warning_that_tells_the_error():
    model = IsingModel((30, 30))
    with pytest.warns(
        ApproximationWarning, match=r"annealed .* standard error 0\.0.* bound 1740"
    ):
        found = model.log_partition()
    assert 1740.0 + np.log(2.0) < found < 1742.0
    assert model.log_partition(method="annealing") == found
    with pytest.raises(InferenceTooLarge, match=r"model\.within"):
        model.log_partition(method="exact")


def test_annealing_with_spins_given_agrees_with_exact_sums():
    model = IsingModel((6, 6), 0.5, RNG.normal(size=(6, 6)))
    given = {"0,0": 1, "2,3": -1, "2,4": 1}
    exact = model.log_partition(given, method="exact")
    places, values = [0, 15, 16], [1, -1, 1]
    problem = model.problem.clamped(places, values)
    found = run(IsingAnnealing(), problem, np.random.default_rng(0))
    assert abs(found.log_evidence - exact) < 4 * found.error
    again = model.log_partition(given, IsingAnnealing())
    assert abs(again - exact) < 4 * found.error
    assert model.log_partition(given, "annealing") == again
    whole = dict(zip(model.names, np.ones(36, int).tolist(), strict=True))
    assert_allclose(model.log_partition(whole, "annealing"), model.log_density(np.ones((6, 6))))
    with pytest.raises(UnknownVariable, match="found 'x'"):
        model.log_partition({"x": 1}, "annealing")
    unsure = {"0,0": {-1: 0.2, 1: 0.8}, "5,5": {-1: 0.0, 1: 0.5}}
    expected = model.log_partition(unsure, method="exact")
    assert abs(model.log_partition(unsure, "annealing") - expected) < 4 * found.error


def test_gray_levels_are_refused_unless_the_noise_names_them():
    truth = np.where(np.indices((16, 16))[0] < 8, 1, -1)
    gray = np.where(truth > 0, 200, 40).astype(np.uint8)
    model = IsingModel((16, 16), 0.5)
    for noise in (None, 1.0, 30.0):
        with pytest.raises(ValueError, match="around -1 and 1; found values from 40 to 200"):
            model.denoise(gray, noise)
    with pytest.raises(ValueError, match="around -1 and 1"):
        model.observe((truth > 0).astype(float))
    levels = GaussianNoise(30.0, low=40.0, high=200.0)
    assert_array_equal(model.denoise(gray, levels, "max_flow"), truth)


def test_the_noise_of_an_image_is_estimated_where_none_is_given():
    truth = np.where(np.indices((40, 40))[0] < 20, 1, -1)
    noisy = truth + 0.6 * np.random.default_rng(0).normal(size=truth.shape)
    model = IsingModel(truth.shape, 1.0)
    scale = float(np.sqrt(np.mean(noisy**2) - 1))
    assert abs(scale - 0.6) < 0.05
    found = model.denoise(noisy, method="mean_field")
    assert_array_equal(found, model.denoise(noisy, scale, "mean_field"))
    assert np.mean(found != truth) < 0.01


def test_denoising_tells_all_its_methods():
    with pytest.raises(ValueError, match=r"'gibbs'.*'max_flow', 'mean_field'.*'foo'"):
        IsingModel((2, 2)).denoise(np.ones((2, 2)), method="foo")


def test_inferences_print_on_one_line():
    model = IsingModel((40, 40), 0.3)
    for method in ("gibbs", "mean_field"):
        found = model.infer(method)
        for part in (found, found.posterior, model.problem):
            assert len(repr(part)) < 120
            assert "\n" not in repr(part)
    assert "1600 spins" in repr(model.infer("gibbs").posterior)


@pytest.mark.parametrize("settings", [{"coupling": 1e308}, {"field": -1e308}])
def test_sums_beyond_the_largest_number_are_refused(settings):
    with pytest.raises(ValueError, match=r"add up to less than 1e\+300 in size.*found"):
        IsingModel((2, 3), **settings)
    assert np.isfinite(IsingModel((2, 3), 1e290, 1.0).mean()).all()


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 3, 4), (1, 5)])
@pytest.mark.parametrize("periodic", [False, True])
def test_edges_are_those_of_networkx(shape, periodic):
    graph = nx.grid_graph(shape[::-1], periodic=periodic)
    place = {node: k for k, node in enumerate(sorted(graph.nodes))}
    expected = {frozenset((place[a], place[b])) for a, b in graph.edges if a != b}
    edges = lattice_edges(shape, periodic)
    assert len(edges) == len(expected)
    assert {frozenset(pair) for pair in edges.tolist()} == expected


def test_gaussian_noise_has_the_densities_of_scipy():
    y = np.array([-2.0, 0.3, 7.0])
    low, high = GaussianNoise(1.7, low=1.0, high=4.0).log_likelihood(y)
    assert_allclose(low, stats.norm(1.0, 1.7).logpdf(y))
    assert_allclose(high, stats.norm(4.0, 1.7).logpdf(y))


def test_a_number_is_a_standard_deviation():
    assert as_noise(0.5) == GaussianNoise(0.5)


def test_a_flip_has_its_probability():
    low, high = BitFlip(0.1).log_likelihood(np.array([-1.0, 1.0, np.nan]))
    assert_allclose(np.exp(low), [0.9, 0.1, np.nan])
    assert_allclose(np.exp(high), [0.1, 0.9, np.nan])


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan])
def test_a_scale_that_is_not_positive_is_refused(scale):
    with pytest.raises(ValueError, match="must be positive"):
        as_noise(scale)


def test_flips_need_spins_and_a_probability():
    with pytest.raises(ValueError, match=r"found 0\.5"):
        BitFlip(0.1).log_likelihood(np.array([1.0, 0.5]))
    with pytest.raises(ValueError, match="between 0 and 1; found"):
        BitFlip(1.0)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_noise_beyond_two_levels_is_estimated_whatever_the_spins(scale, share):
    rng = np.random.default_rng(1)
    spins = np.where(rng.random(20_000) < share, 1.0, -1.0)
    y = spins + scale * rng.normal(size=spins.shape)
    assert_allclose(noise_beyond(y), scale, rtol=0.05)
    check_levels(y, scale)


def test_levels_other_than_minus_one_and_one_are_refused():
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(400) < 0.3, 1.0, 0.0)
    for y in (255 * truth, truth, np.clip(truth + 0.2 * rng.normal(size=400), 0, 1), -truth):
        for scale in (0.1, 1.0):
            with pytest.raises(ValueError, match=r"around -1 and 1; .*GaussianNoise\("):
                check_levels(y, scale)
    check_levels(np.full(5, np.nan), 1.0)
    check_levels(np.ones(400), 1.0)
