"""Compiled densities are followed to the same bits as the same density in Python."""

import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import types
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference import CompiledDensity, LogDensity, NoUTurnSampling, Parameters, run
from credo.numerics.special.bijection import positive, real

Y = np.array([1.2, 0.4, 2.1, 1.7, 0.9, 1.1])
GROUP = np.array([[0], [1], [0], [1], [1], [0]], dtype=np.int32)
PARAMETERS = Parameters({"scale": positive(), "level": real(2)})


def plain(values, gradient, y, group):
    scale = values[0]
    total = -scale - y.size * np.log(scale)
    gradient[0] = -1.0 - y.size / scale
    gradient[1] = -values[1]
    gradient[2] = -values[2]
    total -= 0.5 * (values[1] ** 2 + values[2] ** 2)
    for i in range(y.size):
        k = 1 + group[i, 0]
        rest = (y[i] - values[k]) / scale
        total -= 0.5 * rest**2
        gradient[k] += rest / scale
        gradient[0] += rest**2 / scale
    return total


compiled = numba.njit(plain)


def by_name(values):
    flat, slopes = np.append(values["scale"], values["level"]), np.zeros(3)
    value = plain(flat, slopes, Y, GROUP)
    return value, {"scale": slopes[0], "level": slopes[1:]}


@numba.cfunc(
    types.float64(types.CPointer(types.float64), types.CPointer(types.float64), types.voidptr)
)
def as_c(values, gradient, data):
    level = numba.carray(data, (2,), np.float64)
    total = 0.0
    for i in range(2):
        gradient[i] = level[i] - values[i]
        total -= 0.5 * gradient[i] ** 2
    return total


def test_machine_code_draws_what_python_draws():
    engine = NoUTurnSampling(n_draws=200, warm_up=200)
    problem = LogDensity(PARAMETERS, CompiledDensity(PARAMETERS, compiled, (Y, GROUP)))
    found = run(engine, problem, np.random.default_rng(0))
    again = run(engine, LogDensity(PARAMETERS, by_name), np.random.default_rng(0))
    assert_allclose(found.state.draws[:, :20], again.state.draws[:, :20], rtol=1e-6)
    assert found.state.facts[..., 4].sum() > 200


def test_a_compiled_density_can_be_asked_by_name_and_sent():
    density = CompiledDensity(PARAMETERS, compiled, (Y, GROUP))
    values = {"scale": np.array(0.7), "level": np.array([1.0, -1.0])}
    expected = by_name(values)
    for each in (density, pickle.loads(pickle.dumps(density))):
        value, gradient = each(values)
        assert value == pytest.approx(expected[0])
        assert_allclose(gradient["level"], expected[1]["level"])
        assert gradient["scale"].shape == ()


def test_a_c_function_is_followed_too():
    parameters = Parameters({"x": real(2)})
    density = CompiledDensity(parameters, as_c, (np.array([1.0, 5.0]),))
    value, gradient = density({"x": np.array([0.0, 4.0])})
    assert value == pytest.approx(-1.0)
    assert_array_equal(gradient["x"], [1.0, 1.0])
    found = run(
        NoUTurnSampling(), LogDensity(parameters, density), np.random.default_rng(0), chains=2
    )
    error = found.posterior.mean_error("x")
    assert np.all(np.abs(found.posterior.mean("x") - [1.0, 5.0]) < 4.0 * error)
    with pytest.raises(ValueError, match="data of a C function must be one array"):
        CompiledDensity(parameters, as_c, (Y, Y))


CHILD = """
import numba, numpy as np
from numba.core import event
from credo.inference import CompiledDensity, LogDensity, NoUTurnSampling, Parameters, run
from credo.numerics.special.bijection import real

class Listener(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(str(event.data["dispatcher"]))
    def on_end(self, event):
        pass

def normal(values):
    return float(-0.5 * values["x"] ** 2), {"x": -values["x"]}

with event.install_listener("numba:compile", Listener()):
    problem = LogDensity(Parameters({"x": real()}), normal)
    run(NoUTurnSampling(n_draws=20, warm_up=20), problem, np.random.default_rng(0))
print(len(Listener.names))
"""


def test_a_second_process_compiles_nothing():
    run(
        NoUTurnSampling(n_draws=20, warm_up=20),
        LogDensity(PARAMETERS, by_name),
        np.random.default_rng(0),
    )
    answer = subprocess.run(
        [sys.executable, "-c", CHILD],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert answer.stdout.strip() == "0"
