"""The command ``credo``, stopped by the keyboard in one sentence even while it loads."""

import sys
from importlib import import_module

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        import_module("credo.app.command_line").main()
    except KeyboardInterrupt:
        sys.stderr.write("credo: stopped before anything was done.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
