import os

import pytest

from credo.numerics import memory
from credo.numerics.memory import UNKNOWN, available_bytes, bytes_of, bytes_text


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (12, 12.0),
        (1.5e9, 1.5e9),
        ("12", 12.0),
        ("12B", 12.0),
        ("3KB", 3e3),
        ("2 mb", 2e6),
        ("1.5 GB", 1.5e9),
        (" 0.25TB ", 2.5e11),
        ("1e3 KB", 1e6),
    ],
)
def test_sizes_are_bytes_or_texts_with_a_unit(size, expected):
    found = bytes_of(size)
    assert found == expected
    assert isinstance(found, float)


@pytest.mark.parametrize("size", ["", "GB", "four GB", "4 XB", "4 GBB", "1,5GB"])
def test_a_size_that_cannot_be_read_is_shown_with_the_units(size):
    with pytest.raises(ValueError, match=r"must be bytes or a text.*found .*Units are B, KB"):
        bytes_of(size)


def test_free_memory_is_told_in_bytes_not_pages():
    # A machine that runs these tests has more than 16 MB free and less than 100 TB.
    assert 2**24 < available_bytes() < 10**14


def test_free_memory_is_pages_times_their_size(monkeypatch):
    told = {"SC_AVPHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", told.__getitem__)
    assert available_bytes() == 4_096_000


@pytest.mark.parametrize("error", [AttributeError, OSError, ValueError])
def test_a_system_that_does_not_tell_is_given_a_guess(monkeypatch, error):
    def refuse(name):
        raise error(name)

    monkeypatch.setattr(os, "sysconf", refuse)
    assert available_bytes() == UNKNOWN


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (999.7, "1 kB"),
        (1_000, "1 kB"),
        (999_900, "1 MB"),
        (123_456, "123 kB"),
        (2e9, "2 GB"),
        (7.5e12, "7.5 TB"),
        (4e21, "4,000,000 PB"),
    ],
)
def test_a_size_is_told_in_the_unit_that_fits(n_bytes, text):
    assert bytes_text(n_bytes) == text
