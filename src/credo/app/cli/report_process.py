"""The report made by a second process, beside the work whose results it shows.

Loading matplotlib and drawing hold Python's interpreter for as long as a small fit takes. The
second process loads while the first one reads and fits, and draws while it fits to all rows.
Where it cannot be had, the first one does it all.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, NoReturn

import credo
from credo import numerics, study
from credo.app.console.flag import with_flags

if TYPE_CHECKING:
    from credo.study.report.content import Page

__all__ = ["ReportProcess", "halves", "report_process", "serve"]

PATIENCE = 60.0
"""Seconds after which a page that another process should have made is made in this one."""

STANDARD_OUTPUT = 1

_COMMAND = """
from credo.__main__ import load_quickly
load_quickly()
from credo.app.cli.report_process import serve
serve()
"""
_FIRST = b"<!DOCTYPE html>"
_FLAGS = {"I": "isolated", "E": "ignore_environment", "s": "no_user_site"}


class ReportProcess:
    """Makes the page of a report as soon as its content is known.

    Parameters
    ----------
    process
        Another Python that runs `serve`; None to make pages in this one.
    """

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process
        self._asking: Thread | None = None
        self._page = b""
        self._content: Page | None = None
        self._lock, self._is_closed = Lock(), False

    def begin(self, content: Page) -> None:
        """Let a page be made of its content; do not wait for it."""
        self._content = content
        # Whatever goes wrong with the other process, this one can make the page.
        with self._lock, suppress(Exception):
            if self._process is not None and not self._is_closed:
                thread = Thread(target=self._ask, args=(pickle.dumps(content),), daemon=True)
                thread.start()
                self._asking = thread

    def page(self) -> bytes:
        """Return the page that was begun, made here if the other process did not."""
        if self._asking is not None:
            self._asking.join(PATIENCE)
        assert self._content is not None
        return self._page or study.page_html(self._content, wording=with_flags).encode()

    def close(self) -> None:
        """End the other process, whatever it is doing."""
        with self._lock:
            if self._process is None or self._is_closed:
                return
            self._is_closed = True
            # It may have a copy, which is of its group.
            with suppress(AttributeError, OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
        if self._asking is None:
            self._process.communicate()
        else:
            self._asking.join()

    def _ask(self, question: bytes) -> None:
        assert self._process is not None
        page, _ = self._process.communicate(question)
        if self._process.returncode == 0 and page.startswith(_FIRST):
            self._page = page


@contextmanager
def report_process() -> Iterator[ReportProcess]:
    """Lend a `ReportProcess`, a second if a core is free and nothing that draws is loaded."""
    maker = ReportProcess(_started() if _is_worth() else None)
    try:
        yield maker
    finally:
        maker.close()


def serve() -> None:
    """Load what makes pages, read the content of one, and write it.

    The first argument says where the credo is that asks: another one may mean other things.
    """
    if sys.argv[1] != credo.__file__:
        os._exit(1)
    page_html = study.page_html
    page = page_html(pickle.load(sys.stdin.buffer), halves, with_flags).encode()
    # What others print stays in its buffer. Nothing is left to be cleared away either, which
    # takes as long as a picture.
    with os.fdopen(sys.stdout.fileno(), "wb") as out:
        out.write(page)
    os._exit(0)


def halves(parts: Sequence[Callable[[], str]]) -> list[str]:
    """Make the first half of a page here, and the second one in a copy of this process.

    Only where a process can be copied safely; whatever goes wrong with the copy, its half is
    made here.
    """
    middle = (len(parts) + 1) // 2
    ends: tuple[int, ...] = ()
    try:
        ends = os.pipe() if sys.platform == "linux" else ()
        copy = os.fork() if ends else -1
    except OSError:
        for end in ends:
            os.close(end)
        copy = -1
    if copy < 0:
        return [part() for part in parts]
    source, sink = ends
    if copy == 0:
        os.close(source)
        _answer(parts[middle:], sink)
    os.close(sink)
    with os.fdopen(source, "rb") as found:
        try:
            made, answer = [part() for part in parts[:middle]], found.read()
        except BaseException:
            os.kill(copy, signal.SIGKILL)
            raise
        finally:
            status = os.waitpid(copy, 0)[1]
    return made + ([part() for part in parts[middle:]] if status else pickle.loads(answer))


def _answer(parts: Sequence[Callable[[], str]], sink: int) -> NoReturn:
    """Write parts of a page to a pipe, and end the process."""
    status = 1
    with suppress(BaseException):
        # Who reads what the first process writes must not wait for this one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT)
        with os.fdopen(sink, "wb") as out:
            pickle.dump([part() for part in parts], out)
        status = 0
    os._exit(status)


def _is_worth() -> bool:
    return numerics.n_cores() > 1 and "matplotlib" not in sys.modules


def _started() -> subprocess.Popen[bytes] | None:
    if not sys.executable:
        return None
    flags = [f"-{letter}" for letter, name in _FLAGS.items() if getattr(sys.flags, name)]
    # -P: files of the folder one happens to be in are no modules. Not in the group of
    # the first process: Ctrl-C is for that one, which then ends this.
    try:
        return subprocess.Popen(
            [sys.executable, *flags, "-P", "-c", _COMMAND, str(credo.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # Nothing there multiplies matrices, and what is copied should have one thread.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    except OSError:
        return None
