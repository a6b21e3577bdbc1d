"""Model files changed and sealed again: refused by ``load``, or whatever loads must predict."""

import io
import json
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import credo
from credo.data.error import ModelFileError
from credo.data.model_file.model_file import DOCUMENT, write_archive
from credo.distributions.univariate import Univariate
from credo.study.job import fit_table
from credo.study.study import Study
from fuzz.estimator_setting import CLASSIFIERS, REGRESSORS, TRANSFORMERS
from fuzz.mutation import mutated_array, mutated_bytes, mutated_document
from fuzz.outcome import Verdict, judged, require_finite
from fuzz.worker import Limits, Surface

__all__ = ["SURFACE", "SealedModel"]

N_ROWS = 30
FRAME = pd.DataFrame(
    {
        "a": np.linspace(-1.0, 2.0, N_ROWS) ** 3,
        "b": np.cos(np.arange(N_ROWS) * 2.0),
        "c": [("u", "v", "w")[i % 3] for i in range(N_ROWS)],
        "d": pd.date_range("2024-01-01", periods=N_ROWS).strftime("%Y-%m-%d"),
    }
).assign(y=lambda frame: frame["a"] + frame["b"], k=lambda f: np.where(f["b"] > 0, "p", "q"))
GAPPY = FRAME.assign(
    **{
        name: FRAME[name].where(np.arange(N_ROWS) % step != step // 2)
        for name, step in (("a", 5), ("b", 7), ("c", 6))
    }
)
X = FRAME[["a", "b"]].to_numpy()
PIPELINES = (
    make_pipeline(
        SimpleImputer(add_indicator=True),
        StandardScaler(),
        PolynomialFeatures(2, include_bias=False),
        credo.LinearRegression(),
    ),
    make_pipeline(
        RobustScaler(),
        make_pipeline(MinMaxScaler(), PCA(whiten=True), "passthrough"),
        MaxAbsScaler(),
        credo.LogisticRegression(),
    ),
)


@dataclass(frozen=True)
class SealedModel:
    """The content of a model file."""

    name: str
    document: dict[str, Any]
    arrays: tuple[NDArray[Any], ...]
    raw: bytes

    @classmethod
    def of(cls, model: Any, name: str) -> "SealedModel":
        """Return what `credo.save` writes of a model."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "m.credo"
            credo.save(model, path)
            with zipfile.ZipFile(path) as archive:
                document = json.loads(archive.read(DOCUMENT))
                n_arrays = len(document.pop("arrays"))
                arrays = [
                    np.load(io.BytesIO(archive.read(f"arrays/{i}.npy")))
                    for i in range(n_arrays)
                ]
            return cls(name, document, tuple(arrays), path.read_bytes())

    def mutant(self, random: Random) -> bytes:
        """Return a file that was changed: its bytes, its document or one of its arrays."""
        kind = random.choices(("bytes", "document", "array"), (0.1, 0.45, 0.45))[0]
        if kind == "bytes":
            return mutated_bytes(random, self.raw)
        document, arrays = self.document, list(self.arrays)
        if kind == "document" or not arrays:
            document = {**document, "value": mutated_document(random, document["value"])}
        else:
            for _ in range(random.choice((1, 1, 1, 2))):
                place = random.randrange(len(arrays))
                arrays[place] = mutated_array(random, arrays[place])
        buffer = io.BytesIO()
        write_archive(buffer, document, arrays)
        return buffer.getvalue()


def prepare() -> list[SealedModel]:
    """Return one file of every estimator, of pipelines and of both jobs on tables."""
    sealed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (*CLASSIFIERS, *REGRESSORS, *TRANSFORMERS):
            fitted = model.fit(
                np.abs(X), FRAME["k" if is_classifier(model) else "y"].to_numpy()
            )
            sealed.append(SealedModel.of(fitted, str(model)))
            use(fitted)
        for place, (pipeline, target) in enumerate(zip(PIPELINES, "yk", strict=True)):
            rows = GAPPY[["a", "b"]] if target == "y" else FRAME[["a", "b"]]
            fitted = pipeline.fit(rows, FRAME[target])
            sealed.append(SealedModel.of(fitted, f"pipeline {place}"))
            use(fitted)
        for target, other in (("y", "k"), ("k", "y")):
            table = GAPPY.drop(columns=other)
            fitted = fit_table(table, target).model
            sealed.append(SealedModel.of(fitted, f"table of {target}"))
            use(fitted)
    return sealed


def run_case(sealed: list[SealedModel], random: Random, folder: Path) -> Verdict:
    """Load a mutant, and use it if it loads."""
    model = random.choice(sealed)
    path = folder / "m.credo"
    path.write_bytes(model.mutant(random))
    loaded: list[Any] = []

    def load() -> tuple[str, ...]:
        loaded.append(credo.load(path))
        return ("loaded",)

    def predict() -> tuple[str, ...]:
        use(loaded[0])
        return ("loaded",)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = judged(model.name.partition("(")[0], load, (ModelFileError,))
        return judged(verdict.kind, predict, ()) if loaded else verdict


def use(model: Any) -> None:
    """Ask a model for everything that it predicts; raise a `Fault` for what is not finite.

    A file may hold a model that was never fitted; it says so when asked.
    """
    model = model.model if isinstance(model, Study) else model
    if hasattr(model, "preparation"):
        table = GAPPY.head(5).drop(columns=[model.target], errors="ignore")
        frame = model.predict(table).frame
        require_finite(frame.select_dtypes("number").to_numpy(float), "a prediction of a table")
        return
    if not hasattr(model, "n_features_in_"):
        return
    new = np.abs(np.zeros((4, model.n_features_in_)) + X[:4, :1])
    if hasattr(model, "feature_names_in_"):
        new = pd.DataFrame(new, columns=model.feature_names_in_)
    if hasattr(model, "transform"):
        require_finite(model.transform(new), "transform")
    if hasattr(model, "predict"):
        require_finite(model.predict(new), "predict")
    if hasattr(model, "predict_proba"):
        require_finite(model.predict_proba(new), "predict_proba")
    use_distribution(model, new)


def use_distribution(model: Any, new: Any) -> None:
    """Ask a model, or the last step of a pipeline, for what it may predict of each row."""
    if isinstance(model, Pipeline):
        new = model[:-1].transform(new) if len(model) > 1 else new
        model = model[-1]
    if hasattr(model, "predict_dist"):
        told = model.predict_dist(new)
        is_number = isinstance(told, Univariate)
        require_finite(told.interval(0.9) if is_number else told.probability, "predict_dist")


SURFACE = Surface("model_files", prepare, run_case, Limits(seconds=20.0, batch=100))
