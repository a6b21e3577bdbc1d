"""Published data sets: a small one of the same form is judged and stored."""

import json

import numpy as np
import pandas as pd

from benchmarks import gp_sets, gp_splits


def test_splits_are_judged_and_stored_set_by_set(tmp_path, monkeypatch):
    monkeypatch.setattr(gp_splits, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(gp_splits.keep, "__defaults__", (tmp_path / "kept",))
    rng = np.random.default_rng(0)
    for name in ("yacht", "energy"):
        folder = tmp_path / name
        folder.mkdir()
        x = rng.uniform(0, 5, 40)
        rows = pd.DataFrame({"x": x, "y": np.sin(x) + 0.1 * rng.standard_normal(40)})
        rows.to_csv(folder / "data.csv.gz", index=False)
        tests = pd.DataFrame([range(10), range(10, 20)])
        tests.to_csv(folder / "test_index.csv.gz", header=False, index=False)
        assert gp_splits.main([str(tmp_path), name, "--store"]) == 0
    stored = json.loads((tmp_path / "kept" / "gp_splits.json").read_text())["sets"]
    assert set(stored) == {"yacht", "energy"}
    assert stored["yacht"]["splits"] == 2
    assert 0.05 < stored["yacht"]["rmse"][0] < 0.3
    assert 0.6 < stored["yacht"]["inside"][0] <= 1.0


def test_classes_are_judged_by_folds_and_by_a_given_split(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    frame = pd.DataFrame(x, columns=["a", "b"])
    frame["y"] = np.where(x[:, 0] + 0.1 * rng.standard_normal(60) > 0, "yes", "no")
    frame.to_csv(tmp_path / "pima768.csv", index=False)
    X, y, is_train = gp_sets.table(tmp_path, "pima768")
    assert len(is_train) == 0
    error, bits = gp_sets.judged(X, y, "laplace", False)
    assert error < 20.0
    assert bits > 0.5
    frame["part"] = np.where(np.arange(60) < 40, "train", "test")
    frame.to_csv(tmp_path / "pima_ripley.csv", index=False)
    assert gp_sets.main([str(tmp_path), "pima_ripley"]) == 0
    assert "'wrong': " in capsys.readouterr().out
