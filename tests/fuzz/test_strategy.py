"""Properties of whatever the fuzzer draws."""

from random import Random

import numpy as np
from fuzz.messy_table import MISSING, TextFormat, messy_table
from fuzz.strategy import messy_tables, small_networks, text_formats
from hypothesis import HealthCheck, given, settings

from credo.data.error import TableError
from credo.data.table.table import read_table

slow_to_draw = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def fingerprint(path, form, table):
    path.write_bytes(form.bytes_of(table))
    try:
        return read_table(path).fingerprint()
    except TableError:
        return None


@slow_to_draw
@given(messy_tables, text_formats)
def test_a_table_reads_the_same_however_it_is_quoted_ended_marked_or_packed(
    tmp_path_factory, table, form
):
    path = tmp_path_factory.mktemp("table") / "t.csv"
    plain = TextFormat(form.separator)
    assert fingerprint(path, plain, table) == fingerprint(path, form, table)


def test_a_table_that_is_to_have_gaps_has_some_in_every_input():
    for seed in range(5):
        table = messy_table(Random(seed), 300, has_gaps=True)
        columns = dict(zip(table.names, zip(*table.rows, strict=True), strict=True))
        assert len(table.rows) == 300
        for name in set(table.names) - {table.target}:
            assert set(columns[name]) & set(MISSING), name


@slow_to_draw
@given(small_networks)
def test_every_marginal_is_a_sum_over_the_joint(small):
    names, joint = list(small.states), np.exp(small.log_joint())
    for name, found in small.network().marginals().items():
        axes = tuple(i for i, other in enumerate(names) if other != name)
        np.testing.assert_allclose(found.to_numpy(), joint.sum(axis=axes), atol=1e-12)
