"""The command ``credo``, stopped by the keyboard in one sentence even while it loads."""

import gc
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from typing import Any

__all__ = ["UNUSED", "LoadedOnUse", "load_quickly", "main"]

UNUSED = frozenset({"numpy.f2py", "numpy.testing", "scipy.stats", "yaml"})
"""What NumPy, scikit-learn and Numba load at their start, and no command uses."""


class LoadedOnUse:
    """Finds the modules in `UNUSED`, which are loaded once something is asked of them."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return where a module is if it is one of these, else None."""
        if fullname not in UNUSED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def load_quickly() -> None:
    """Make a process of one command start and end sooner.

    Modules that are not used wait, and garbage is searched for after many more objects than
    usual: loading makes some hundred thousand of them, and no garbage.
    """
    if not any(isinstance(finder, LoadedOnUse) for finder in sys.meta_path):
        sys.meta_path.insert(0, LoadedOnUse())
    gc.set_threshold(200_000)


def main() -> None:
    """Run the command line."""
    try:
        load_quickly()
        import_module("credo.app.cli.command_line").main()
    except KeyboardInterrupt:
        sys.stderr.write("credo: stopped before anything was done.\n")
        sys.exit(130)
    finally:
        # What ends with the process need not be searched for cycles first.
        gc.freeze()


if __name__ == "__main__":
    main()
