"""Model files that earlier builds of 0.1.0 wrote load, and say what they said then."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from credo.data import load

FOLDER = Path(__file__).with_name("written")
SAID = json.loads((FOLDER / "said.json").read_text())


def says(model, name):
    if name.startswith("table"):
        frame = model.predict_frame(pd.read_csv(FOLDER / "new_cases.csv"))
        return frame.select_dtypes("number").to_numpy()
    rows = pd.read_csv(FOLDER / "new_rows.csv")
    verb = next(v for v in ("predict_proba", "predict", "transform") if hasattr(model, v))
    return np.asarray(getattr(model, verb)(rows))


def test_there_is_a_file_of_every_kind():
    assert {path.stem for path in FOLDER.glob("*.credo")} == set(SAID)
    assert len(SAID) == 22


@pytest.mark.parametrize("name", sorted(SAID))
def test_a_file_of_an_earlier_build_says_what_it_said(name):
    found, expected = says(load(FOLDER / f"{name}.credo"), name), np.array(SAID[name])
    if expected.dtype.kind == "U":
        assert found.tolist() == expected.tolist()
    else:
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in sorted(SAID) if name.startswith("table")])
def test_remarks_of_an_earlier_build_are_facts_and_its_classes_text(name):
    study = load(FOLDER / f"{name}.credo")
    assert {remark.tone for remark in study.remarks} == {"fact"}
    assert tuple(remark.text for remark in study.remarks) == study.model.notes
    if hasattr(study.model, "stack"):
        assert study.classes_.dtype.kind == "U"
