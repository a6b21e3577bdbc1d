import numpy as np

from credo.distributions.search import first_integer


def test_the_first_integer_is_found_among_numbers_that_have_none_between():
    found = first_integer(lambda x: x - 2.0**58, np.array(0.0), np.array(2.0**60))
    assert found == 2.0**58
