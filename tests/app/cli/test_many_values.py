import pytest

from credo.app.cli.network_command import spread_values


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("n.bif --given a=1 b=2", "n.bif --given a=1 --given b=2"),
        ("n.bif --given a=1 --given b=2", "n.bif --given a=1 --given b=2"),
        ("n.bif --given=a=1 b=2 --of x", "n.bif --given=a=1 --given b=2 --of x"),
        ("--given a=1 b=2 n.bif --of x", "--given a=1 --given b=2 n.bif --of x"),
        ("--of x n.bif --do a=1 b=2", "--of x n.bif --do a=1 --do b=2"),
        ("n.bif --of x y z --out f.csv", "n.bif --of x --of y --of z --out f.csv"),
        ("n.bif --out f.csv --of x", "n.bif --out f.csv --of x"),
        ("--out f.csv --of x n.bif", "--out f.csv --of x n.bif"),
        ("n.bif --joint --of x y", "n.bif --joint --of x --of y"),
    ],
)
def test_every_value_gets_the_option_before_it(typed, read):
    assert " ".join(spread_values(typed.split())) == read
