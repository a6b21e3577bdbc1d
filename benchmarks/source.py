"""Which code a run measured, and whether it has changed since."""

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

__all__ = ["is_stale", "sources"]

ROOT = Path(__file__).resolve().parent.parent


def sources(root: Path = ROOT, *, runs_commands: bool = False) -> dict[str, Any]:
    """Return the files of credo that are loaded, and the hash of what they hold.

    Commands load what they need in processes of their own: of them all files count.
    """
    modules = [m for name, m in sys.modules.items() if name.partition(".")[0] == "credo"]
    loaded = {Path(m.__file__) for m in modules if m.__file__}
    package = root / "src" / "credo"
    every = {*package.rglob("*.py"), *package.rglob("*.pyi")}
    paths = every if runs_commands else loaded
    files = sorted(p.relative_to(root).as_posix() for p in paths if p.is_relative_to(root))
    return {"files": files, "sha256": _hash(files, root)}


def is_stale(run: dict[str, Any], root: Path = ROOT) -> bool:
    """Return whether the code that a stored run measured has changed, or is not known."""
    measured = run.get("sources")
    return measured is None or _hash(measured["files"], root) != measured["sha256"]


def _hash(files: Sequence[str], root: Path) -> str:
    """Return the SHA-256 of files in turn; one that is gone counts as empty."""
    digest = sha256()
    for name in files:
        path = root / name
        digest.update(name.encode() + b"\0" + (path.read_bytes() if path.exists() else b""))
    return digest.hexdigest()
