"""The report made by a second process, beside the work whose results it shows.

Loading matplotlib and drawing hold Python's interpreter for as long as a small fit takes. The
second process loads while the first one reads and fits, and draws while it fits to all rows.
Where it cannot be had, the first one does it all.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread
from typing import Any

from credo import app
from credo.__main__ import load_quickly
from credo.numerics.row_block import n_cores

__all__ = ["ReportProcess", "report_process", "serve"]

_COMMAND = "from credo.app.report_process import serve; serve()"


class ReportProcess:
    """Makes the page of a report as soon as there is something to draw.

    Parameters
    ----------
    process
        Another Python that runs `serve`; None to make pages in this one.
    """

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process
        self._asking: Thread | None = None
        self._page = b""

    def begin(self, judged: Any) -> None:
        """Let the page be made of what was judged; do not wait for it."""
        if self._process is not None:
            self._asking = Thread(target=self._ask, args=(pickle.dumps(judged),), daemon=True)
            self._asking.start()

    def page(self, judged: Any) -> bytes:
        """Return the page, made here if the other process did not."""
        if self._asking is not None:
            self._asking.join()
        return self._page or app.report_page(judged).encode()

    def close(self) -> None:
        """End the other process, whatever it is doing."""
        if self._process is None:
            return
        self._process.kill()
        if self._asking is None:
            self._process.communicate()
        else:
            self._asking.join()

    def _ask(self, question: bytes) -> None:
        assert self._process is not None
        page, _ = self._process.communicate(question)
        if self._process.returncode == 0:
            self._page = page


@contextmanager
def report_process(is_wanted: bool) -> Iterator[ReportProcess]:
    """Lend a `ReportProcess`, if there is a core for it and nothing to draw with is loaded.

    Parameters
    ----------
    is_wanted
        Whether a report will be made at all.
    """
    is_worth = is_wanted and n_cores() > 1 and "matplotlib" not in sys.modules
    maker = ReportProcess(_started() if is_worth else None)
    try:
        yield maker
    finally:
        maker.close()


def serve() -> None:
    """Load what makes reports, read what was judged, and write its page."""
    load_quickly()
    for module in ("class_report", "regression_report"):
        import_module(f"credo.app.{module}")
    judged = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(app.report_page(judged).encode())
    sys.stdout.flush()
    # Nothing is left to be cleared away, which takes as long as a picture.
    os._exit(0)


def _started() -> subprocess.Popen[bytes] | None:
    # -P: files of the folder one happens to be in are no modules. A session of its own: Ctrl-C
    # is for the first process, which then ends this one.
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
