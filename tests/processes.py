"""Runs in other processes that are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def killed_run(code, path, *arguments, after):
    """Run code in a process of its own, and kill it without warning.

    The code is given the path of its checkpoint and the arguments; it prints "begun" when it
    has loaded what it needs. Returns what it printed afterwards.

    Parameters
    ----------
    after
        Seconds between the first snapshot and the end.
    """
    start = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    command = [sys.executable, "-c", start + code, str(path), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        until = time.monotonic() + 60.0
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(after)
        os.kill(process.pid, signal.SIGKILL)
        return process.communicate(timeout=60)[0]
