"""No model file, however it was changed, makes a command end in a traceback."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import credo
from credo.app.cli.command_line import command_line
from credo.data import ModelFileError
from resealing import seal, unseal

N_EDITS = 40
JUNK = [
    None,
    True,
    -1,
    5,
    1e308,
    "x",
    "",
    [],
    [1, 2],
    {"$": "float", "value": "nan"},
    {"$": "dict", "items": {}},
    {"$": "tuple", "items": []},
    {"$": "array", "place": 0},
    {"$": "member", "class": "Status", "name": "CONVERGED"},
]


def leaves(node, path=()):
    """Yield the place of everything below a node."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in items:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from leaves(child, (*path, key))


@pytest.fixture(scope="module", params=["numbers", "classes"])
def whole(request, result, sorted_rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.credo"
    credo.save((result if request.param == "numbers" else sorted_rows).model, path)
    document, arrays = unseal(path)
    del document["arrays"]
    return document, arrays


@pytest.fixture
def work(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed = table.head(6).copy()
    changed.loc[1, "site"] = "moon"
    changed.loc[2, ["age", "day"]] = None
    changed.loc[3, "dose"] = 1e6
    changed.to_csv("new.csv", index=False)
    return tmp_path


def assert_answered(what):
    for arguments in (["inspect", "m.credo"], ["predict", "m.credo", "new.csv"]):
        ran = CliRunner().invoke(command_line, arguments)
        assert ran.exit_code in (0, 2), (what, arguments, repr(ran.exception))
        if ran.exit_code == 2:
            assert ran.stderr.startswith("credo: m.credo must "), (what, ran.stderr)
            assert len(ran.stderr.strip().splitlines()) == 1


def test_the_file_written_anew_is_the_same(whole, work):
    seal("m.credo", *whole)
    for arguments in (["inspect", "m.credo"], ["predict", "m.credo", "new.csv"]):
        assert CliRunner().invoke(command_line, arguments).exit_code == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(2))
def test_any_edited_value_is_answered_or_refused_in_one_sentence(whole, work, seed):
    document, arrays = whole
    places = list(leaves(document))
    rng = np.random.default_rng(seed)
    for _ in range(N_EDITS // 2):
        copy = json.loads(json.dumps(document))
        place = places[rng.integers(len(places))]
        junk = JUNK[rng.integers(len(JUNK))]
        node = copy
        for key in place[:-1]:
            node = node[key]
        if rng.random() < 0.2:
            del node[place[-1]]
        else:
            node[place[-1]] = junk
        seal("m.credo", copy, arrays)
        assert_answered((place, junk))


def broken(array, rng):
    """Return an array that does not belong where this one was."""
    if array.dtype.kind == "U":
        return np.zeros(3)
    flat = array.reshape(-1)
    return [
        np.zeros(1),
        np.full_like(array, np.nan, dtype=float),
        -np.abs(array.astype(float)),
        np.append(flat, 1.0),
        flat[: flat.size // 2],
        array.T[None],
        np.array(["a", "b"]),
        array * 1e300,
    ][rng.integers(8)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(2))
def test_any_other_array_is_answered_or_refused_in_one_sentence(whole, work, seed):
    document, arrays = whole
    rng = np.random.default_rng(seed)
    for _ in range(N_EDITS // 2):
        place = int(rng.integers(len(arrays)))
        with np.errstate(all="ignore"):
            other = broken(arrays[place], rng)
        seal("m.credo", document, [*arrays[:place], other, *arrays[place + 1 :]])
        assert_answered((place, arrays[place].shape, other.shape))


def test_scores_that_are_missing_are_refused(whole, work):
    document, arrays = whole
    copy = json.loads(json.dumps(document))
    copy["value"]["fields"]["scores"] = {"$": "tuple", "items": []}
    seal("m.credo", copy, arrays)
    assert_answered("no scores")
    assert "must score every c" in str(
        CliRunner().invoke(command_line, ["inspect", "m.credo"]).stderr
    )


def test_names_of_half_a_character_are_refused(whole, work):
    document, arrays = whole
    places = [place for place, array in enumerate(arrays) if array.dtype.kind == "U"]
    halves = [np.char.add(array, "\ud800") for array in arrays if array.dtype.kind == "U"]
    changed = dict(zip(places, halves, strict=True))
    text = json.dumps(document)
    for name in ("age", document["value"]["fields"]["preparation"]["fields"]["target"]):
        damaged = json.loads(text.replace(f'"{name}"', rf'"{name}\ud800"'))
        for parts in (arrays, [changed.get(i, array) for i, array in enumerate(arrays)]):
            seal("m.credo", damaged, parts)
            ran = CliRunner().invoke(command_line, ["predict", "m.credo", "new.csv"])
            assert ran.exit_code == 2
            assert ran.stderr.startswith("credo: m.credo must ")
            assert "Unicode" in ran.stderr or "whole characters" in ran.stderr


def test_a_classifier_that_was_tried_and_left_out_may_be_scored(sorted_rows, work):
    model = sorted_rows.model
    tried = replace(model.scores[0], name="left out")
    credo.save(replace(model, scores=(tried, *model.scores)), "m.credo")
    assert len(credo.load("m.credo").model.scores) == len(model.scores) + 1
    for scores in ((), model.scores[-1:], (tried, *model.scores[2:])):
        credo.save(replace(model, scores=scores), "m.credo")
        with pytest.raises(ModelFileError, match="must score every candidate"):
            credo.load("m.credo")
