import re
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from PIL import Image

from credo.app.cli.command_line import command_line
from credo.data.network_file.network_file import load_network, save_network
from credo.data.sets.example_network import example_network_path, load_example_network
from credo.graphs.factor import Factor
from credo.graphs.node.linear_gaussian import LinearGaussian
from credo.graphs.node.noisy import NoisyOr
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

ASIA, ALARM = (str(example_network_path(name)) for name in ("asia", "alarm"))


def run(*arguments, code=0):
    ran = CliRunner().invoke(command_line, [str(argument) for argument in arguments])
    assert ran.exit_code == code, ran.output
    return ran


def texts(path):
    """Return all words of an SVG picture."""
    found = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return [element.text for element in found]


def test_info_tells_variables_arcs_parameters_plan_and_largest_tables():
    out = run("network", "info", ALARM).stdout
    assert "a Bayesian network of 37 variables, 46 arcs" in out
    assert "37 discrete variables with 2 to 4 states (105)" in out
    assert "parameters: 509 free" in out
    assert re.search(r"plan of all marginals: width \d+, [\d,]+ cells, [\d.]+ kB", out)
    rows = [line.split() for line in out.splitlines()]
    assert ["CATECHOL", "ARTCO2,", "INSUFFANESTH,", "SAO2,", "TPR", "108", "-"] in rows


def test_info_tells_the_cost_of_networks_with_real_variables(tmp_path):
    parts = {False: LinearGaussian(0.0), True: LinearGaussian(2.0)}
    net = BayesianNetwork("kind -> size", {"kind": [0.3, 0.7], "size": parts})
    save_network(net, tmp_path / "hybrid.json")
    out = run("network", "info", tmp_path / "hybrid.json").stdout
    report = net.plan()
    assert "1 real variable" in out
    assert f"plan of all marginals: width {report.width}, {report.cells:,} cells" in out


def test_info_warns_of_lonely_variables_and_states_that_cannot_be(tmp_path):
    tables = {"a": [1.0, 0.0], "b": [[0.5, 0.5], [0.2, 0.8]], "c": [0.3, 0.7]}
    save_network(BayesianNetwork("a -> b; c", tables), tmp_path / "odd.json")
    out = run("network", "info", tmp_path / "odd.json").stdout
    assert "Joined to no other variable: c." in out
    assert "Impossible whatever else holds: a = True." in out
    assert "2 connected parts" in out


@pytest.fixture
def many_causes(tmp_path):
    """A noisy OR of 30 parents, whose whole table would have two thousand million entries."""
    names = [f"c{i}" for i in range(30)]
    tables = {name: [0.9, 0.1] for name in names}
    net = BayesianNetwork(
        {"effect": names} | {name: [] for name in names},
        {"effect": NoisyOr(dict.fromkeys(names, 0.2)), **tables},
    )
    path = tmp_path / "many.json"
    save_network(net, path)
    return path


def test_info_lists_stored_tables_only(many_causes):
    out = run("network", "info", many_causes).stdout
    assert "a Bayesian network of 31 variables, 30 arcs" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["c0", "-", "2", "-"] in rows
    assert not any(row[:1] == ["effect"] for row in rows)


def test_a_table_that_no_file_holds_is_refused_with_the_format_that_does(many_causes, tmp_path):
    ran = run("network", "convert", many_causes, tmp_path / "many.bif", code=2)
    assert "the table of 'effect' must have at most" in ran.stderr
    assert "Save the network as .json" in ran.stderr.replace("\n", " ")
    assert not (tmp_path / "many.bif").exists()


def test_the_plan_is_made_once(monkeypatch):
    made = []
    plan = BayesianNetwork.plan
    monkeypatch.setattr(BayesianNetwork, "plan", lambda net: made.append(net) or plan(net))
    run("network", "info", ALARM)
    assert len(made) == 1


def test_info_of_a_markov_random_field_counts_factors(tmp_path):
    a, b = Variable("0", (0, 1)), Variable("1", (0, 1, 2))
    save_network(
        MarkovRandomField([Factor((a, b), [[1, 2, 3], [4, 5, 6]])]), tmp_path / "f.uai"
    )
    out = run("network", "info", tmp_path / "f.uai").stdout
    assert "a Markov random field of 2 variables, 1 factor, 1 edge" in out
    assert "factors: 6 entries" in out


@pytest.mark.parametrize("extension", ["json", "xmlbif", "bif", "bif.gz"])
def test_a_converted_network_gives_the_same_answers(tmp_path, extension):
    out = tmp_path / f"alarm.{extension}"
    assert f"network: {out}" in run("network", "convert", ALARM, out).stdout
    one, two = load_example_network("alarm"), load_network(out)
    assert list(one.variables.values()) == list(two.variables.values())
    given = {"CVP": "LOW"}
    assert_allclose(one.query("HR", given), two.query("HR", given), atol=1e-12)


def test_a_network_is_not_converted_onto_itself(tmp_path):
    path = tmp_path / "asia.bif"
    path.write_bytes(example_network_path("asia").read_bytes())
    assert "must not be written over" in run("network", "convert", path, path, code=2).stderr


def test_a_format_that_is_not_known_is_refused(tmp_path):
    said = run("network", "convert", ASIA, tmp_path / "asia.biff", code=2).stderr
    assert "Did you mean '.bif'?" in said


def test_a_drawing_holds_every_name_and_the_posteriors(tmp_path):
    out = tmp_path / "asia.svg"
    run("network", "draw", ASIA, "--out", out, "--given", "smoke=yes", "dysp=yes")
    words = texts(out)
    assert set(load_example_network("asia").variables) <= set(words)
    assert words.count("given") == 2
    assert "given smoke = yes, dysp = yes" in words
    assert "14.8 %" in words
    assert "85.2 %" in words


def test_the_same_drawing_gives_the_same_file(tmp_path):
    for name in ("one.svg", "two.svg"):
        run("network", "draw", ASIA, "--out", tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_png_has_text_of_readable_size(tmp_path):
    out = tmp_path / "asia.png"
    run("network", "draw", ASIA, "--out", out, "--names-only")
    with Image.open(out) as picture:
        assert picture.info["dpi"][0] == pytest.approx(150, abs=1)
        assert picture.size[0] > 300


def test_names_only_draws_no_percentages(tmp_path):
    out = tmp_path / "asia.svg"
    run("network", "draw", ASIA, "--out", out, "--names-only")
    assert sorted(texts(out)) == sorted(load_example_network("asia").variables)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "asia.svgg"], ["must end in .svg, .png, .pdf", "Did you mean '.svg'?"]),
        (["--out", "nowhere/asia.svg"], ["found no folder"]),
        (["--out", "a.svg", "--given", "smoek=yes"], ["Did you mean 'smoke'?"]),
        (["--out", "a.svg", "--given", "lung=yes", "either=no"], ["probability zero"]),
        ([], ["--out"]),
    ],
)
def test_a_drawing_that_cannot_be_is_refused_and_leaves_no_file(
    arguments, words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    ran = run("network", "draw", ASIA, *arguments, code=2)
    assert len(ran.stderr.splitlines()) == 1
    for word in words:
        assert word in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_network_alone_shows_its_commands():
    ran = CliRunner().invoke(command_line, ["network"])
    for name in ("info", "convert", "draw"):
        assert name in ran.output


def test_letters_that_the_font_lacks_are_in_the_svg_and_told_for_a_png(tmp_path):
    net = BayesianNetwork(
        {"雨": [], "<&>": ["雨"]}, {"雨": [0.2, 0.8], "<&>": [[0.5, 0.5]] * 2}
    )
    save_network(net, tmp_path / "rain.json")
    ran = run("network", "draw", tmp_path / "rain.json", "--out", tmp_path / "rain.svg")
    assert ran.stderr == ""
    assert {"雨", "<&>"} <= set(texts(tmp_path / "rain.svg"))
    ran = run("network", "draw", tmp_path / "rain.json", "--out", tmp_path / "rain.png")
    assert "save it as .svg" in ran.stderr
