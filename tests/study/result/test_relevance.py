"""Relevance of columns: length scales per standard deviation, whatever their units."""

import numpy as np
import pandas as pd
import pytest

from credo import GaussianProcessRegressor
from credo.features import SquaredExponential
from credo.models import LinearRegression, ModelAverage
from credo.study.job import fit_table
from credo.study.report.number_report import number_blocks
from credo.study.result.relevance import column_relevance, leading_process

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"idle": RNG.normal(size=80), "bent": 100 * RNG.normal(size=80)})
Y = np.sin(FRAME["bent"].to_numpy() / 40) + 0.05 * RNG.normal(size=80)


def average_of(model):
    return ModelAverage([("line", LinearRegression()), ("surface", model)]).fit(FRAME, Y)


def test_the_column_that_bends_the_surface_comes_first_with_its_interval():
    average = average_of(GaussianProcessRegressor())
    first, second = column_relevance(average, 0.8).relevances
    model = leading_process(average)
    length, low, high = model.settings(0.8).loc["length_scale[bent]", ["value", "low", "high"]]
    spread = model.posterior_.data.x[:, 1].std()
    assert first == (
        "bent",
        *map(pytest.approx, (spread / length, spread / high, spread / low)),
    )
    assert first.low < first.value < first.high
    assert second.column == "idle"
    assert second.value < 0.3 * first.value
    assert "bends most along" in column_relevance(average).sentence()
    assert "'bent'" in column_relevance(average).sentence()


def test_a_line_has_no_relevance():
    stiff = GaussianProcessRegressor(SquaredExponential(1e5).hold())
    line, y = LinearRegression(), FRAME["idle"].to_numpy() + 0.1 * Y
    average = ModelAverage([("line", line), ("stiff", stiff)]).fit(FRAME, y)
    assert average.probability_[0] > 0.9
    assert leading_process(average) is None
    assert column_relevance(average).relevances == ()


def pictures_of(names):
    result = fit_table(FRAME[list(names)].assign(y=Y), "y")
    cards = [card for section in number_blocks(result).sections for card in section.cards]
    found = {p.name: p.drawing for card in cards for p in card.parts if hasattr(p, "drawing")}
    return result, found


def test_a_report_shows_the_whole_curve_of_one_input():
    result, found = pictures_of(["bent"])
    curve = found["curve"]
    said = result.training.predict_dist(pd.DataFrame({"bent": curve.x}))
    np.testing.assert_allclose(curve.mean, said.mean())
    low, high = curve.band.T
    assert (curve.outcomes[:, 0] < low).all()
    assert (low < curve.mean).all()
    assert (curve.mean < high).all()
    assert len(curve.rows) == 64
    assert "profile0" not in found
    assert "relevance" in found


def test_a_report_shows_the_whole_surface_of_two_inputs_and_its_doubt():
    result, found = pictures_of(["idle", "bent"])
    surface, doubt = found["surface"], found["doubt"]
    assert surface.names == ("bent", "idle")
    corner = pd.DataFrame({"idle": [surface.y[-1]], "bent": [surface.x[0]]})
    said = result.training.predict_dist(corner)
    assert surface.height[-1, 0] == pytest.approx(said.mean()[0])
    assert doubt.height[-1, 0] == pytest.approx(said.epistemic_std[0])
    assert {"surface", "doubt", "profile0", "profile1"} <= set(found)
