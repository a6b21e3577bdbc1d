import json
import subprocess
import sys

import credo

HEAVY = ["sklearn", "numba", "matplotlib", "scipy.stats", "pandas"]


def modules_after(statement):
    code = f"import json, sys; {statement}; print(json.dumps(list(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(answer.stdout))


def test_import_loads_nothing_heavy():
    assert modules_after("import credo").isdisjoint(HEAVY)


def test_distributions_and_families_need_neither_sklearn_nor_numba():
    loaded = modules_after(
        "from credo.distributions import Normal; from credo.families import *"
    )
    assert loaded.isdisjoint(HEAVY)


def test_linear_regression_does_not_wait_for_numba_or_matplotlib():
    loaded = modules_after("from credo import LinearRegression")
    assert loaded.isdisjoint({"numba", "matplotlib"})


def test_public_names_resolve():
    code = "import credo; print(sum(hasattr(credo, name) for name in credo.__all__))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert int(answer.stdout) == len(credo.__all__) > 10
