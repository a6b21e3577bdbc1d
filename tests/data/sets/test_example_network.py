import numpy as np
import pytest

from credo.data import example_network_names, example_network_path, load_example_network
from credo.data.network_file.bif import bif_text
from credo.data.network_file.network_assembly import parts_of_network


def test_asia_holds_the_published_numbers():
    asia = load_example_network("asia")
    assert asia.graph.parents("either") == ("lung", "tub")
    tables = {name: c.probability for name, c in asia.conditionals.items()}
    assert tables["asia"].tolist() == [0.01, 0.99]
    assert tables["tub"].tolist() == [[0.05, 0.95], [0.01, 0.99]]
    assert tables["lung"].tolist() == [[0.1, 0.9], [0.01, 0.99]]
    assert tables["bronc"].tolist() == [[0.6, 0.4], [0.3, 0.7]]
    assert tables["xray"].tolist() == [[0.98, 0.02], [0.05, 0.95]]
    assert tables["dysp"][..., 0].tolist() == [[0.9, 0.8], [0.7, 0.1]]
    np.testing.assert_array_equal(tables["either"][..., 0], [[1, 1], [1, 0]])


def test_alarm_has_its_published_size():
    alarm = load_example_network("alarm")
    assert (len(alarm.variables), len(alarm.graph.edges), alarm.n_parameters) == (37, 46, 509)


@pytest.mark.parametrize("name", example_network_names())
def test_the_files_are_as_credo_writes_them(name):
    text = bif_text(parts_of_network(load_example_network(name)))
    assert example_network_path(name).read_text() == text


def test_an_unknown_network_is_refused_with_the_known_ones():
    names = example_network_names()
    assert {"alarm", "asia"} <= set(names)
    with pytest.raises(ValueError, match=f"{', '.join(map(repr, names))}; found 'munin'"):
        load_example_network("munin")
