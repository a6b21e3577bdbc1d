import re
import subprocess
import sys
import tracemalloc

import pytest

from credo.graphs import Factor, Variable
from credo.inference.discrete.table_engine import joint_bytes
from credo.inference.engine.error import AnswerTooLarge
from credo.models import MarkovRandomField
from credo.models.network.network import Limits


@pytest.mark.parametrize("memory", [0, -1, "0GB", float("nan")])
def test_memory_must_be_positive(memory):
    with pytest.raises(ValueError, match=r"memory for exact inference must be positive"):
        Limits().within(memory, None)


@pytest.mark.parametrize("seconds", [0.0, -2.0])
def test_time_must_be_positive(seconds):
    with pytest.raises(ValueError, match=r"seconds for exact inference must be positive"):
        Limits().within(None, seconds)


def test_what_is_not_told_stays():
    limits = Limits(1e6, 2.0)
    assert limits.within(None, None) == limits
    assert limits.within("2GB", None) == Limits(2e9, 2.0)
    assert limits.within(None, 5.0) == Limits(1e6, 5.0)


UNDER_A_LIMIT = """
import itertools, pathlib, resource
import numpy as np
from credo.graphs import Factor, Variable
from credo.inference.engine.error import MemoryWithheld
from credo.models import MarkovRandomField

names = [f"v{i}" for i in range(27)]
variables = {name: Variable(name, ("no", "yes")) for name in names}
apart = MarkovRandomField([Factor((v,), [0.25, 0.75]) for v in variables.values()])
pairs = itertools.combinations(names, 2)
dense = MarkovRandomField(
    [Factor((variables[a], variables[b]), [[2.0, 1.0], [1.0, 2.0]]) for a, b in pairs]
)
apart.query(names[:16])
dense.query(names[0], given=dict.fromkeys(names[2:], "no"))
status = pathlib.Path("/proc/self/status").read_text().splitlines()
taken = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (taken + (300 << 20), resource.RLIM_INFINITY))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(apart.query(names[1:17])) == 2**16
for question in (lambda: apart.query(names[:24]), lambda: dense.query(names[0])):
    try:
        question()
    except MemoryWithheld as error:
        print(error)
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
"""


def test_what_a_limit_of_the_process_withholds_is_refused_before_it_is_taken():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", UNDER_A_LIMIT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    joint, plan = done.stdout.splitlines()
    assert re.search(r"a joint table must fit .* control group .*needs 805 MB.*within", joint)
    assert re.search(r"an exact plan must fit .* control group .*within\(memory=", plan)


def test_the_usual_limit_is_a_constant_and_counts_the_labels():
    names = [f"v{i}" for i in range(27)]
    field = MarkovRandomField(
        [Factor((Variable(n, ("no", "yes")),), [0.5, 0.5]) for n in names]
    )
    with pytest.raises(AnswerTooLarge, match=r"must fit 2\.15 GB; found .*needs 6\.85 GB"):
        field.query(names)


def test_the_memory_of_a_joint_answer_holds_what_is_measured():
    names = [f"v{i}" for i in range(19)]
    field = MarkovRandomField(
        [Factor((Variable(n, ("no", "yes")),), [0.5, 0.5]) for n in names]
    )
    field.query(names[:18])
    tracemalloc.start()
    try:
        answer = field.query(names)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.index.nlevels == 19
    assert 0.5 * peak < joint_bytes((2,) * 19, n_rows=1) < 2 * peak
