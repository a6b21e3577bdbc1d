import numpy as np
import pytest
from click.testing import CliRunner

from credo import BayesianNetwork, load_network, save_network
from credo.app.cli.command_line import command_line
from credo.data import NETWORK_EXTENSIONS, NetworkFileError
from credo.data.network_file import formats, network_file
from credo.data.network_file.formats import FORMATS, Format

NET = BayesianNetwork("a -> b", {"a": [0.25, 0.75], "b": [[0.5, 0.5], [0.125, 0.875]]})


def read(content):
    """Return a chain of two whose first table is a line and whose second are two."""
    first, *rest = ([float(n) for n in line.split()] for line in content.decode().splitlines())
    return BayesianNetwork("a -> b", {"a": first, "b": rest})


def write(net):
    tables = [node.probability.reshape(-1, 2) for node in net.conditionals.values()]
    return "\n".join(" ".join(map(str, row)) for row in np.vstack(tables).tolist())


PLAIN = Format("plain", (".plain",), read, write)


def test_a_format_of_ones_own_is_used_whatever_the_extension(tmp_path):
    save_network(NET, tmp_path / "net.txt", format=PLAIN)
    assert (tmp_path / "net.txt").read_text().splitlines()[0] == "0.25 0.75"
    back = load_network(tmp_path / "net.txt", format=PLAIN)
    np.testing.assert_array_equal(
        back.conditionals["b"].probability, NET.conditionals["b"].probability
    )


def test_a_format_on_the_list_is_found_by_its_extension(tmp_path, monkeypatch):
    monkeypatch.setattr(network_file, "FORMATS", (*FORMATS, PLAIN))
    save_network(NET, tmp_path / "net.plain.gz")
    back = load_network(tmp_path / "net.plain.gz")
    assert back.query("b")[True] == 0.25 * 0.5 + 0.75 * 0.875


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_format_keeps_the_tables_under_each_of_its_extensions(form, tmp_path):
    for extension in form.extensions:
        save_network(NET, tmp_path / f"net{extension}")
        back = list(load_network(tmp_path / f"net{extension}").conditionals.values())
        np.testing.assert_array_equal(back[1].probability, [[0.5, 0.5], [0.125, 0.875]])


def test_no_extension_belongs_to_two_formats():
    assert len(set(NETWORK_EXTENSIONS)) == len(NETWORK_EXTENSIONS)


def test_the_refusal_of_an_extension_and_the_help_name_the_formats():
    with pytest.raises(NetworkFileError) as refused:
        load_network("net.biff")
    told = CliRunner().invoke(command_line, ["network", "convert", "--help"]).output
    for form in FORMATS:
        assert all(extension in str(refused.value) for extension in form.extensions)
        assert form.extensions[0] in told
    assert formats.main_extensions() in " ".join(told.replace("│", " ").split())
