from threading import Event

import pytest

from credo.app.console.console import spoken_progress


def test_a_long_step_is_named_again_and_again():
    said, is_repeated = [], Event()

    def say(line):
        said.append(line)
        if sum(line.startswith("still fitting after ") for line in said) == 3:
            is_repeated.set()

    with spoken_progress(say, quiet=0.01, repeat=0.01) as tell:
        tell(0.1, "fitting")
        assert is_repeated.wait(30)
    assert all(line.endswith(" s ...") for line in said)


def test_a_short_job_says_nothing():
    said = []
    with spoken_progress(said.append) as tell:
        tell(0.1, "fitting")
    assert said == []


def test_an_error_in_the_job_ends_the_lines_and_is_raised():
    said = []
    with pytest.raises(ValueError, match="broken"), spoken_progress(said.append):
        raise ValueError("broken")
    assert said == []
