"""How loops are compiled: once, and kept where later processes find and trust them.

By itself numba refuses to compile where neither the package nor the home of the user can be
written, and fails on files that were cut. Here a loop is kept in the first of some folders that
can be written, or in memory alone if there is none, and what cannot be read is compiled anew.
Files are written under another name and then renamed, so that processes that compile the same
loop at once never read half of one.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
from numba.core import compiler, serialize
from numba.misc import appdirs

__all__ = ["compiled", "compiled_part", "direct"]

PATIENCE = 1.0
"""Seconds of compiling after which people who look at a terminal get a message."""

_SEAL = hashlib.sha256().digest_size

Function = TypeVar("Function", bound=Callable[..., Any])

# numba tells type checkers about little of itself.
_njit: Any = numba.njit
_config: Any = numba.config
_rebuilt: Any = compiler.CompileResult._rebuild
_dumps: Any = serialize.dumps
_AppDirs: Any = appdirs.AppDirs


def compiled(**settings: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles a loop on its first call, or takes it from a file.

    Parameters
    ----------
    settings
        Of ``numba.njit``, besides those that all loops share: the lock of the interpreter is
        let go, and division by zero gives what IEEE 754 says.
    """

    def decorate(function: Function) -> Function:
        loop: Any = _jit(function, settings)
        # With compiling switched off numba hands the function back as it is.
        if loop is not function:
            loop._cache = _Keeper(function)
            loop._compiler.compile = _waiting.during(loop._compiler.compile)
        kept: Function = loop
        return kept

    return decorate


def compiled_part(**settings: Any) -> Callable[[Function], Function]:
    """Return a decorator for what loops call alone; it is kept as a part of them.

    What may add up in any order has other last digits inside a loop than on its own. A process
    that compiles would call it on its own, one that finds the loop in a file would not, and
    chains of one seed would part. So it always stands inside the loop.
    """
    of_parts = {"no_cpython_wrapper": True, "forceinline": bool(settings.get("fastmath"))}
    return lambda function: _jit(function, of_parts | settings)


def direct(loop: Function) -> Function:
    """Return what a loop that was called with one kind of arguments is for these alone.

    It does not look for a form that suits them, which takes a third of a microsecond.
    """
    forms = list(getattr(loop, "overloads", {}).values())
    found: Function = forms[0].entry_point if len(forms) == 1 else loop
    return found


def _jit(function: Function, settings: dict[str, Any]) -> Function:
    # Without wrappers that nobody calls there is less to compile.
    shared = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    loop: Function = _njit(**(shared | settings))(function)
    return loop


class _Keeper:
    """What numba asks for the compiled forms of one loop, and gives new ones to."""

    cache_path = None

    def __init__(self, function: Any) -> None:
        module, line = function.__module__, function.__code__.co_firstlineno
        self._name = f"{module}.{function.__qualname__}-{line}.{sys.implementation.cache_tag}"

    def enable(self) -> None:
        """Do nothing: what is compiled is always kept."""

    def disable(self) -> None:
        """Do nothing: what is compiled is always kept."""

    def flush(self) -> None:
        """Do nothing: what is out of date is never found."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the form for arguments of some types, or None if it is to be compiled."""
        target.refresh()
        name = self._file_name(signature, target.codegen())
        for folder in _folders().readable:
            # Whatever is wrong with a file, to compile anew is the cure.
            with suppress(Exception):
                payload = pickle.loads(_unsealed((folder / name).read_bytes()))
                return _rebuilt(target, *payload)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a form that was compiled, if there is a place for it."""
        folder = _folders().writable
        if folder is None or result.library.has_dynamic_globals:
            return
        path = folder / self._file_name(signature, result.codegen)
        part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
        # A disk may fill at any time; the loop runs all the same.
        with suppress(OSError):
            try:
                part.write_bytes(_sealed(_dumps(result._reduce())))
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            self._sweep(folder)

    def _file_name(self, signature: Any, codegen: Any) -> str:
        key = hashlib.sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()
        return f"{self._name}-{_source_stamp()}-{key[:24]}.loop"

    def _sweep(self, folder: Path) -> None:
        for path in folder.glob(f"{self._name}-*"):
            if _source_stamp() not in path.name:
                path.unlink(missing_ok=True)


class _Waiting:
    """Time that people have waited for the compiler, who get a message once it is long.

    The message comes from a thread of its own: a single loop may take half a minute.
    """

    def __init__(self) -> None:
        self._depth, self._since, self._total, self._has_spoken = 0, 0.0, 0.0, False
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def during(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that compiles, and notes that it does, perhaps inside another."""

        def noted(*arguments: Any) -> Any:
            self._begin()
            try:
                return work(*arguments)
            finally:
                self._end()

        return noted

    def _begin(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._since = time.monotonic()
        if not self._has_spoken and _is_watched():
            self._timer = threading.Timer(max(PATIENCE - self._total, 0.0), self._tell)
            self._timer.daemon = True
            self._timer.start()

    def _end(self) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._total += time.monotonic() - self._since
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._total >= PATIENCE:
                self._tell()

    def _tell(self) -> None:
        with self._lock:
            has_spoken, self._has_spoken = self._has_spoken, True
        if has_spoken:
            return
        often = (
            "once"
            if _folders().writable
            else "as in every process, because nothing can be kept; set NUMBA_CACHE_DIR to a "
            "folder that can be written"
        )
        print(f"credo: compiling, {often} ...", file=sys.stderr, flush=True)


_waiting = _Waiting()


def _is_watched() -> bool:
    """Return whether people look on: at a terminal, or at a prompt or notebook."""
    return hasattr(sys, "ps1") or (sys.stderr is not None and sys.stderr.isatty())


def _sealed(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


def _unsealed(content: bytes) -> bytes:
    """Return what was sealed; damaged machine code would run all the same."""
    if hashlib.sha256(content[_SEAL:]).digest() != content[:_SEAL]:
        raise ValueError("must be as it was written; found other content")
    return content[_SEAL:]


@cache
def _source_stamp() -> str:
    """Return a digest of all that compiled code depends on, besides types and processor.

    A loop holds the parts it calls, which may stand in other modules.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.parent.rglob("_loops*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Folders(NamedTuple):
    """Where loops are looked for, and where they are kept."""

    readable: tuple[Path, ...]
    writable: Path | None


@cache
def _folders() -> _Folders:
    """Return folders in which only those can have written whose code runs anyway."""
    package = Path(__file__).parent
    if _config.CACHE_DIR:
        of_package = hashlib.sha256(str(package).encode()).hexdigest()[:16]
        usual = Path(_config.CACHE_DIR) / f"credo-{of_package}"
    else:
        usual = package / "__pycache__"
    home = Path(_AppDirs(appname="credo", appauthor=False).user_cache_dir)
    temporary = Path(tempfile.gettempdir()) / f"credo-{_user()}"
    readable = []
    for folder, is_shared in ((usual, True), (home, False), (temporary, False)):
        can_write = _can_write(folder, 0o777 if is_shared else 0o700)
        if is_shared or (can_write and _is_own(folder)):
            readable.append(folder)
            if can_write:
                return _Folders(tuple(readable), folder)
    return _Folders(tuple(readable), None)


def _can_write(folder: Path, mode: int) -> bool:
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _is_own(folder: Path) -> bool:
    """Return whether no other user can have put a file into a folder, to have it run."""
    found = folder.lstat()
    is_private = _user() is None or (found.st_uid == _user() and not found.st_mode & 0o077)
    return stat.S_ISDIR(found.st_mode) and is_private


def _user() -> int | None:
    return os.getuid() if hasattr(os, "getuid") else None
