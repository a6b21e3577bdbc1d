"""Build the wheel and try it in an empty environment: ``python -m release.wheel``."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["ROOT", "built", "missing_files", "tried"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
LEFT_OUT = {".pyc", ".nbc", ".nbi"}


def main() -> None:
    """Build, compare the files, install, and run; stop with what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder))
        absent = missing_files(wheel)
        if absent:
            raise SystemExit(f"the wheel must hold every file of src/credo; missing: {absent}")
        print(f"{wheel.name}: {wheel.stat().st_size // 1024} kB, every file of src/credo in it")
        environment = Path(folder) / "environment"
        run([sys.executable, "-m", "venv", environment])
        python = environment / "bin" / "python"
        run([python, "-m", "pip", "install", "--quiet", wheel])
        print(tried(python, Path(folder)))


def built(folder: Path) -> Path:
    """Return a wheel built from a source archive, so that no left-over file helps it."""
    run([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    (wheel,) = folder.glob("*.whl")
    return wheel


def missing_files(wheel: Path) -> list[str]:
    """Return the files of the package that a wheel does not hold."""
    held = set(zipfile.ZipFile(wheel).namelist())
    files = (path for path in (SOURCE / "credo").rglob("*") if path.is_file())
    wanted = {path.relative_to(SOURCE).as_posix() for path in files if _is_shipped(path)}
    return sorted(wanted - held)


def _is_shipped(path: Path) -> bool:
    return path.suffix not in LEFT_OUT and "__pycache__" not in path.parts


def tried(python: Path, folder: Path) -> str:
    """Return what `release.inside` says when another interpreter runs it in another folder."""
    elsewhere = Path(tempfile.mkdtemp(dir=folder))
    for file in (ROOT / "release" / "inside.py", ROOT / "README.md"):
        shutil.copy(file, elsewhere)
    return run([python, "-I", "inside.py", "README.md"], elsewhere).strip()


def run(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """Return what a command prints; stop with all it said if it fails."""
    answer = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        said = answer.stdout + answer.stderr
        raise SystemExit(f"{command} ended with {answer.returncode}\n{said}")
    return answer.stdout


if __name__ == "__main__":
    main()
