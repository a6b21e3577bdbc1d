"""Tests repeat: what one draws does not depend on which others ran before it.

Property tests repeat their examples; ``--hypothesis-profile=search`` tries new ones.
"""

import gc
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import settings

pytest_plugins = ["clinic"]

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("search", max_examples=500, deadline=None)
settings.load_profile("repeatable")


def pytest_configure(config):
    """Let interrupts be heard: processes that a shell starts in the background ignore them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session):
    """Leave what stands for thousands of tests out of every search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _fresh_generator(request, monkeypatch):
    """Start the generator that the tests of a module share anew for each of them."""
    if hasattr(getattr(request, "module", None), "RNG"):
        monkeypatch.setattr(request.module, "RNG", np.random.default_rng(0))


@pytest.fixture(scope="session")
def two_processes():
    """Lend new processes: a copy of this one, which has threads, may wait for ever."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool
