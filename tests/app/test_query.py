import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import naive
from credo.app.cli.command_line import command_line
from credo.data.network_file.network_file import save_network
from credo.data.sets.example_network import example_network_path, load_example_network
from credo.graphs.factor import Factor
from credo.graphs.node.linear_gaussian import ConditionalLinearGaussian, LinearGaussian
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

ASIA = str(example_network_path("asia"))


def run(*arguments, code=0):
    ran = CliRunner().invoke(command_line, [str(argument) for argument in arguments])
    assert ran.exit_code == code, ran.output
    return ran


def refused(*arguments):
    """Return the one sentence on standard error with which a command ends."""
    ran = run(*arguments, code=2)
    assert ran.stdout == ""
    lines = ran.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("credo: ")
    return lines[0]


@pytest.fixture
def sprinkler(tmp_path):
    path = tmp_path / "sprinkler.json"
    save_network(naive.sprinkler(), path)
    return path


@pytest.fixture
def cases(tmp_path):
    """A case that is usual, one without findings, and one that cannot be."""
    path = tmp_path / "cases.csv"
    path.write_text("id,smoke,xray,tub,either\na,yes,yes,,\nb,,,,\nc,,,yes,no\n")
    return path


def shown(output, state):
    """Return the percentage on the line of a state."""
    line = next(line for line in output.splitlines() if line.split()[:1] == [state])
    return float(line.split()[-2]) / 100


def test_a_query_prints_bars_the_probability_of_the_findings_and_the_method():
    ran = run("query", ASIA, "--of", "lung", "--given", "smoke=yes", "dysp=yes")
    lines = ran.stdout.splitlines()
    assert lines[0] == "lung"
    assert lines[1].split() == ["yes", "████▌", "14.8", "%"]
    assert lines[2].split()[0] == "no"
    assert "given smoke = yes, dysp = yes" in lines
    assert "log P(given) = -1.28589, P(given) = 0.2764" in lines
    assert "method: exact" in lines


def test_the_printed_numbers_are_those_of_enumeration():
    ran = run("query", ASIA, "--of", "lung", "--given", "smoke=yes", "dysp=yes")
    net = load_example_network("asia")
    joint = math.prod(net.factors[1:], start=net.factors[0])
    rest = joint.restrict({"smoke": "yes", "dysp": "yes"})
    others = [name for name in rest.names if name != "lung"]
    table = rest.sum_out(*others)
    share = table.normalized().table()
    assert shown(ran.stdout, "yes") == pytest.approx(share[0], abs=5e-4)
    assert f"log P(given) = {np.log(table.table().sum()):.6g}" in ran.stdout


def test_several_values_repeated_options_and_any_order_ask_the_same():
    asked = [
        ("query", ASIA, "--of", "lung", "tub", "--given", "smoke=yes", "dysp=yes"),
        ("query", "--given", "smoke=yes", "dysp=yes", ASIA, "--of", "lung", "--of", "tub"),
        ("query", ASIA, "--given=smoke=yes", "--given", "dysp=yes", "--of=lung", "--of", "tub"),
    ]
    answers = {run(*arguments).stdout for arguments in asked}
    assert len(answers) == 1
    assert [line for line in answers.pop().splitlines() if line in ("lung", "tub")] == [
        "lung",
        "tub",
    ]


def test_without_of_every_variable_that_is_not_given_is_told():
    lines = run("query", ASIA, "--given", "smoke=yes").stdout.splitlines()
    told = [line for line in lines if line in load_example_network("asia").variables]
    assert told == [name for name in load_example_network("asia").variables if name != "smoke"]


def test_text_is_matched_to_typed_states(sprinkler):
    ran = run("query", sprinkler, "--of", "rain", "--given", "wet=true")
    assert shown(ran.stdout, "True") == pytest.approx(0.7079, abs=5e-4)


def test_an_intervention_does_not_speak_of_causes(sprinkler):
    ran = run("query", sprinkler, "--of", "cloud", "--do", "sprinkler=true")
    assert shown(ran.stdout, "True") == pytest.approx(0.5)
    assert "set sprinkler = True" in ran.stdout
    seen = run("query", sprinkler, "--of", "cloud", "--given", "sprinkler=true")
    assert shown(seen.stdout, "True") == pytest.approx(0.05 / 0.3, abs=5e-4)


def test_findings_under_an_intervention_have_the_probability_of_the_changed_network(sprinkler):
    ran = run(
        "query", sprinkler, "--of", "rain", "--given", "wet=true", "--do", "sprinkler=true"
    )
    wet = 0.5 * 0.9 + 0.5 * 0.99
    assert f"P(given) = {wet:.4g}" in ran.stdout
    assert shown(ran.stdout, "True") == pytest.approx(0.5 * 0.99 / wet, abs=5e-4)


def test_a_vague_finding_weighs_the_states(sprinkler):
    ran = run(
        "query", sprinkler, "--of", "cloud", "--given", "cloud=true:0.9|false:0.3", code=2
    )
    assert "asked for, given or set" in ran.stderr
    ran = run("query", sprinkler, "--of", "rain", "--given", "cloud=true:0.9|false:0.3")
    assert shown(ran.stdout, "True") == pytest.approx(0.75 * 0.8 + 0.25 * 0.2, abs=5e-4)


def test_the_scale_of_likelihoods_is_no_probability(sprinkler):
    ran = run("query", sprinkler, "--of", "rain", "--given", "cloud=true:9|false:3")
    line = next(line for line in ran.stdout.splitlines() if line.startswith("log P(given)"))
    assert line == f"log P(given) = {math.log(6):.6g}, in the scale of the likelihoods"
    ran = run("query", sprinkler, "--of", "rain", "--given", "cloud=true|false")
    assert ", P(given) = 1" in ran.stdout


@pytest.mark.parametrize("command", [["query"], ["network", "draw"]])
@pytest.mark.parametrize(
    "option",
    [
        ["--given", "smoke=yes:0.5"],
        ["--given", "smoke=yes:-1"],
        ["--given", "smoke=yes:0|no:0"],
        ["--do", "smoke=yes|no"],
        ["--given", "smoke=yes", "--do", "smoke=yes"],
    ],
)
def test_likelihoods_that_cannot_be_end_in_one_sentence(command, option, tmp_path):
    out = ["--out", tmp_path / "asia.svg"] if command == ["network", "draw"] else []
    assert "smoke" in refused(*command, ASIA, *out, *option)


def test_a_joint_question_names_the_states_of_all(sprinkler):
    ran = run("query", sprinkler, "--joint", "--of", "rain", "cloud")
    line = next(line for line in ran.stdout.splitlines() if "rain=True, cloud=False" in line)
    assert line.endswith("10 %")


def test_a_markov_random_field_tells_the_normalized_probability_of_findings(tmp_path):
    a, b = Variable("0", (0, 1)), Variable("1", (0, 1))
    field = MarkovRandomField([Factor((a, b), [[6.0, 1.0], [1.0, 2.0]])])
    save_network(field, tmp_path / "field.uai")
    ran = run("query", tmp_path / "field.uai", "--of", "0", "--given", "1=1")
    assert shown(ran.stdout, "1") == pytest.approx(2 / 3, abs=5e-4)
    assert "P(given) = 0.3" in ran.stdout


def test_an_approximate_answer_says_so():
    ran = run("query", ASIA, "--of", "lung", "--method", "belief_propagation")
    assert "approximate" in ran.stdout
    assert "method: exact" not in ran.stdout


def test_out_holds_the_answer_as_a_table(tmp_path):
    out = tmp_path / "answer.csv"
    run("query", ASIA, "--of", "lung", "tub", "--out", out)
    frame = pd.read_csv(out)
    assert frame.columns.tolist() == ["variable", "state", "probability"]
    assert_allclose(frame["probability"], [0.055, 0.945, 0.0104, 0.9896], atol=1e-9)


def test_each_case_gets_its_posterior_and_impossible_ones_are_flagged(cases, tmp_path):
    out = tmp_path / "posteriors.csv"
    ran = run("query", ASIA, "--data", cases, "--of", "lung", "bronc", "--out", out)
    frame = pd.read_csv(out)
    names = ["lung=yes", "lung=no", "bronc=yes", "bronc=no", "log_prob_given", "impossible"]
    assert frame.columns.tolist() == ["id", *names]
    assert frame["id"].tolist() == ["a", "b", "c"]
    assert frame["impossible"].tolist() == [False, False, True]
    assert frame.loc[2, names[:4]].isna().all()
    assert np.isneginf(frame.loc[2, "log_prob_given"])
    alone = run("query", ASIA, "--of", "lung", "--given", "smoke=yes", "xray=yes").stdout
    assert f"log P(given) = {frame.loc[0, 'log_prob_given']:.6g}" in alone
    assert shown(alone, "yes") == pytest.approx(frame.loc[0, "lung=yes"], abs=5e-4)
    assert_allclose(frame.loc[1, ["lung=yes", "bronc=yes"]].astype(float), [0.055, 0.45])
    assert "1 row cannot be, by this network (the first is row 3)" in ran.stderr
    assert ran.stdout == ""


def test_posteriors_without_out_go_to_standard_output(cases):
    ran = run("query", ASIA, "--data", cases, "--of", "lung")
    assert ran.stdout.splitlines()[0] == "id,lung=yes,lung=no,log_prob_given,impossible"


def test_the_column_that_is_asked_for_is_not_used(cases):
    ran = run("query", ASIA, "--data", cases, "--of", "tub")
    row = ran.stdout.splitlines()[3].split(",")
    assert row[0] == "c"
    assert row[-1] == "False"
    assert float(row[1]) == pytest.approx(0.0, abs=1e-12)
    assert "not used: 'tub'" in ran.stderr


def test_a_column_that_answers_would_double_is_refused(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("id,smoke,impossible\na,yes,no\n")
    words = refused("query", ASIA, "--data", path, "--of", "lung")
    assert "found 'impossible'; rename or remove" in words


def test_every_row_is_answered_once(cases, monkeypatch):
    asked = []
    answers = BayesianNetwork.answers

    def counted(net, do=()):
        asked.append(do)
        return answers(net, do)

    monkeypatch.setattr(BayesianNetwork, "answers", counted)
    run("query", ASIA, "--data", cases, "--of", "lung", "bronc")
    assert len(asked) == 1


def test_rows_of_a_markov_random_field_have_the_normalized_probability(tmp_path):
    a, b = Variable("0", (0, 1)), Variable("1", (0, 1))
    save_network(MarkovRandomField([Factor((a, b), [[1, 2], [3, 4]])]), tmp_path / "f.uai")
    (tmp_path / "rows.csv").write_text("id,0\nx,1\ny,\n")
    ran = run("query", tmp_path / "f.uai", "--data", tmp_path / "rows.csv", "--of", "1")
    rows = [line.split(",") for line in ran.stdout.splitlines()[1:]]
    assert_allclose([float(row[3]) for row in rows], [math.log(0.7), 0.0], atol=1e-9)
    assert_allclose([float(row[2]) for row in rows], [4 / 7, 0.6], atol=1e-9)


def test_findings_shared_by_all_cases_come_from_the_command(cases):
    shared = run("query", ASIA, "--data", cases, "--of", "lung", "--given", "asia=yes")
    one = run("query", ASIA, "--of", "lung", "--given", "asia=yes", "xray=yes", "smoke=yes")
    row = shared.stdout.splitlines()[1].split(",")
    assert float(row[1]) == pytest.approx(shown(one.stdout, "yes"), abs=5e-4)


def test_a_large_table_is_answered_in_chunks_as_in_one(tmp_path, monkeypatch):
    frame = load_example_network("asia").sample(50, rng=0)[["smoke", "xray", "dysp"]]
    frame.to_csv(tmp_path / "many.csv", index=False)
    whole = run("query", ASIA, "--data", tmp_path / "many.csv", "--of", "lung").stdout
    monkeypatch.setattr("credo.app.question.network_question.CHUNK", 7)
    assert run("query", ASIA, "--data", tmp_path / "many.csv", "--of", "lung").stdout == whole


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--of", "lnug"], ["--of must name a variable", "'lnug'", "Did you mean 'lung'?"]),
        (["--given", "smoek=yes"], ["'smoek'", "Did you mean 'smoke'?"]),
        (["--given", "smoke=yess"], ["must be one of ['yes', 'no']", "Did you mean 'yes'?"]),
        (["--given", "smoke"], ["must be written as variable=state"]),
        (["--do", "smoek=yes"], ["--do must name", "Did you mean 'smoke'?"]),
        (["--of", "lung", "--given", "lung=yes"], ["lung must be asked for, given or set"]),
        (["--given", "lung=yes", "either=no", "asia=no"], ["lung='yes'", "either='no'"]),
        (
            ["--method", "exakt"],
            ["--method must be one of auto, exact", "Did you mean 'exact'"],
        ),
        (["--data", "nowhere.csv", "--of", "lung"], ["nowhere.csv must be a file"]),
        (["--out", "no_folder/x.csv"], ["found no folder 'no_folder'"]),
    ],
)
def test_a_question_that_does_not_fit_is_refused_in_one_sentence(arguments, words):
    said = refused("query", ASIA, *arguments)
    for word in words:
        assert word in said


def test_a_conflict_names_only_the_findings_that_clash():
    assert "asia" not in refused(
        "query", ASIA, "--of", "dysp", "--given", "asia=no", "lung=yes", "either=no"
    ).removeprefix("credo: asia.bif")


def test_data_needs_to_know_what_is_asked_for(cases):
    assert "--data needs --of" in refused("query", ASIA, "--data", cases)


def test_a_joint_question_over_everything_is_refused_before_any_work():
    said = refused("query", example_network_path("alarm"), "--joint")
    assert "at most 10,000 joint states" in said
    assert "37 variables" in said


def test_absent_and_cut_files_are_named(tmp_path):
    assert "nowhere.bif" in refused("query", tmp_path / "nowhere.bif", "--of", "lung")
    text = example_network_path("asia").read_text()
    (tmp_path / "cut.bif").write_text(text[: len(text) // 2])
    assert "cut.bif" in refused("query", tmp_path / "cut.bif", "--of", "lung")
    (tmp_path / "net.txt").write_text(text)
    assert "must end in one of" in refused("query", tmp_path / "net.txt", "--of", "lung")


def test_interventions_need_arrows(tmp_path):
    a = Variable("0", (0, 1))
    save_network(MarkovRandomField([Factor((a,), [1.0, 2.0])]), tmp_path / "field.uai")
    assert "--do needs a Bayesian network" in refused(
        "query", tmp_path / "field.uai", "--do", "0=1"
    )


def test_nothing_is_written_over_what_is_read(cases):
    before = cases.read_text()
    said = refused("query", ASIA, "--data", cases, "--of", "lung", "--out", cases)
    assert "must not be written over" in said
    assert cases.read_text() == before


@pytest.fixture
def fish(tmp_path):
    """A network in which two species differ in length."""
    length = {"pike": LinearGaussian(55.0, {}, 8.0), "perch": LinearGaussian(22.0, {}, 3.0)}
    tables = {"species": {"pike": 0.4, "perch": 0.6}}
    net = BayesianNetwork(
        "species -> length", {**tables, "length": ConditionalLinearGaussian(length)}
    )
    save_network(net, tmp_path / "fish.json")
    return tmp_path / "fish.json"


def test_a_real_variable_is_told_by_mean_and_sd_and_given_as_a_number(fish):
    told = run("query", fish, "--of", "length", "--given", "species=pike").stdout
    assert "mean 55, sd 8" in told
    told = run("query", fish, "--of", "species", "--given", "length=35").stdout
    pike = 0.4 * math.exp(-0.5 * (20 / 8) ** 2) / 8
    perch = 0.6 * math.exp(-0.5 * (13 / 3) ** 2) / 3
    assert shown(told, "pike") == pytest.approx(pike / (pike + perch), abs=5e-4)
    density = math.log((pike + perch) / math.sqrt(2 * math.pi))
    assert f"log density(given) = {density:.6g}" in told


def test_real_columns_of_cases_are_told_by_mean_and_sd(fish, tmp_path):
    (tmp_path / "caught.csv").write_text("species,length\npike,\n,35\n")
    out = run("query", fish, "--data", tmp_path / "caught.csv", "--of", "length").stdout
    header, first, second = (line.split(",") for line in out.splitlines())
    assert header == ["length mean", "length sd", "log_prob_given", "impossible"]
    assert [float(cell) for cell in first[:2]] == pytest.approx([55.0, 8.0])
    mean = 0.4 * 55 + 0.6 * 22
    variance = 0.4 * (64 + 55**2) + 0.6 * (9 + 22**2) - mean**2
    assert [float(cell) for cell in second[:2]] == pytest.approx([mean, variance**0.5])


def test_a_method_that_does_not_suit_the_network_is_refused(fish):
    said = refused("query", fish, "--of", "species", "--method", "mean_field")
    assert "method must be" in said


def test_a_density_too_large_for_a_number_is_told_by_its_log(tmp_path):
    names = [f"x{i}" for i in range(100)]
    net = BayesianNetwork(
        {name: [] for name in names}, dict.fromkeys(names, LinearGaussian(0.0, {}, 1e-4))
    )
    save_network(net, tmp_path / "narrow.json")
    given = [word for name in names[1:] for word in ("--given", f"{name}=0")]
    out = run("query", tmp_path / "narrow.json", "--of", "x0", *given).stdout
    log_density = 99 * (-0.5 * math.log(2 * math.pi) - math.log(1e-4))
    assert f"log density(given) = {log_density:.6g}\n" in out


def test_real_variables_are_not_asked_for_jointly(fish):
    said = refused("query", fish, "--joint", "--of", "species", "length")
    assert "--joint must ask for variables with states" in said


def test_the_last_change_of_an_iteration_is_not_shown_as_an_error():
    ran = run("query", ASIA, "--of", "xray", "--method", "mean_field")
    said = " ".join(ran.stdout.split())
    assert "approximate, changed last by" in said
    assert "how far off it is, is not known" in said
    assert "mean field on tables with zeros" in " ".join(ran.stderr.split())
