import pytest

from credo.models.limits import Limits


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
