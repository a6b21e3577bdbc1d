"""Ten instances of the UAI 2014 competition with their official answers."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.data.network_file.network_file import load_network
from credo.data.network_file.uai import load_uai_findings

FOLDER = Path(__file__).parents[1] / "data" / "network_file" / "uai"
INSTANCES = sorted(path.name.removesuffix(".uai.gz") for path in FOLDER.glob("*.uai.gz"))
MEMORY = 4e9


def instance(name):
    net = load_network(FOLDER / f"{name}.uai.gz")
    found = load_uai_findings(FOLDER / f"{name}.uai.evid")
    return net, found[0] if found else {}


def published_marginals(name):
    text = gzip.decompress((FOLDER / f"{name}.uai.MAR.gz").read_bytes()).decode()
    numbers = iter(text.split()[1:])
    n_variables = int(next(numbers))
    return [
        np.array([float(next(numbers)) for _ in range(int(next(numbers)))])
        for _ in range(n_variables)
    ]


def test_there_are_ten_instances_and_each_plan_fits_four_gigabytes():
    plans = {
        name: net.plan(list(given)) for name in INSTANCES for net, given in [instance(name)]
    }
    assert len(plans) == 10
    assert max(plan.bytes for plan in plans.values()) < MEMORY


@pytest.mark.parametrize("name", INSTANCES)
def test_the_log_partition_and_all_marginals_are_the_published_ones(name):
    net, given = instance(name)
    published = float((FOLDER / f"{name}.uai.PR").read_text().split()[-1])
    found = net.marginals(given, method="exact")
    total = net.log_partition(given, method="exact")
    # The answers are published with six digits of the log and seven of the marginals.
    assert_allclose(total / np.log(10), published, rtol=5e-6)
    for number, expected in enumerate(published_marginals(name)):
        if str(number) in found:
            assert_allclose(found[str(number)].to_numpy(), expected, rtol=0, atol=1e-6)
        else:
            assert expected[given[str(number)]] == 1


@pytest.mark.parametrize("name", ["Promedus_24", "Segmentation_11", "Pedigree_11"])
def test_the_most_probable_state_is_at_least_as_good_as_the_published_one(name):
    net, given = instance(name)
    words = (FOLDER / f"{name}.uai.MAP").read_text().split()
    states = [int(word) for word in words[-len(net.variables) :]]
    reference = dict(zip(net.variables, states, strict=True)) | given
    best = net.most_probable(given=given)
    at_reference = net.log_partition(reference)
    assert net.log_partition({**best, **given}) >= at_reference - 1e-9
    assert_allclose(best.log_prob + net.log_partition(), net.log_partition({**best, **given}))
