import fcntl
import os
import signal
import socket
import stat
import subprocess
import sys
import threading

import pytest

from credo.data import OutputError, atomic_file, load, require_writable, save


def test_the_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "report.html"
    with atomic_file(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_bytes(b"old")

    def fail_half_way():
        with atomic_file(path) as file:
            file.write(b"new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_half_way()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OutputError, match=r"must be writable; .*No space left on device"),
        atomic_file(tmp_path / "x") as file,
    ):
        file.write(b"content")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_refused_before_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="found no folder"):
        require_writable(tmp_path / "absent" / "x.credo")
    with pytest.raises(OutputError, match="found no folder"):
        require_writable(tmp_path / "file" / "x.credo")
    with pytest.raises(OutputError, match="found a folder"):
        require_writable(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match="no permission"):
        require_writable(tmp_path / "x.credo")


def test_a_new_file_has_the_usual_permissions(tmp_path):
    mask = os.umask(0o022)
    try:
        with atomic_file(tmp_path / "x") as file:
            file.write(b"")
    finally:
        os.umask(mask)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o440])
def test_a_file_that_is_replaced_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(mode)
    with atomic_file(path) as file:
        (part,) = {*os.listdir(tmp_path)} - {"x"}
        assert (tmp_path / part).stat().st_mode & 0o077 == 0
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == mode


def reading(pipe):
    """Return a list that will hold all that is written into a pipe, and its reader."""
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    return found, reader


def test_a_pipe_is_written_into_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found, reader = reading(pipe)
    save({"coverage": 0.9}, pipe)
    reader.join(10)
    (tmp_path / "copy.credo").write_bytes(found[0])
    assert load(tmp_path / "copy.credo") == {"coverage": 0.9}
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["copy.credo", "pipe"]


def test_a_failure_writes_nothing_into_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found, reader = reading(pipe)

    def fail_half_way():
        with atomic_file(pipe) as file:
            file.write(b"new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_half_way()
    with open(pipe, "wb"):
        pass
    reader.join(10)
    assert found == [b""]


def test_a_pipe_whose_reader_leaves_is_one_sentence(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with (
            pytest.raises(OutputError, match=r"must be writable; .*Broken pipe"),
            atomic_file(f"/dev/fd/{writer}") as file,
        ):
            file.write(b"content")
    finally:
        os.close(writer)


def test_a_link_stays_one_and_what_it_points_to_is_written(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "target").write_bytes(b"old")
    link, hanging = tmp_path / "link", tmp_path / "hanging"
    link.symlink_to(folder / "target")
    hanging.symlink_to("elsewhere/new")
    for place in (link, hanging):
        with atomic_file(place) as file:
            file.write(b"content")
        assert place.is_symlink()
        assert place.read_bytes() == b"content"
    assert sorted(os.listdir(folder)) == ["new", "target"]
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "hanging", "link"]


def test_links_that_lead_nowhere_are_refused_before_work(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "far").symlink_to("absent/file")
    with pytest.raises(OutputError, match="must be writable"):
        require_writable(tmp_path / "loop")
    with pytest.raises(OutputError, match="a link into a folder that is absent"):
        require_writable(tmp_path / "far")


def test_a_socket_is_refused_and_stays_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        with pytest.raises(OutputError, match="found a socket"):
            require_writable("s")
    assert stat.S_ISSOCK(os.lstat("s").st_mode)


KILLED = """
import os, signal, sys
from credo.data.output import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_part_of_a_killed_run_is_removed_by_the_next(tmp_path):
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.credo"], check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".a.credo.")
    with atomic_file(tmp_path / "b.credo") as file:
        file.write(b"")
    assert os.listdir(tmp_path) == ["b.credo"]


def test_the_part_of_a_running_writer_and_the_files_of_others_are_kept(tmp_path):
    others = [
        ".movie.deadbeef.part",
        ".a.credo-part",
        "a.0123abcd.credo-part",
        ".a.0123ABCD.credo-part",
        ".link.0123abcd.credo-part",
    ]
    for name in others[:-1]:
        (tmp_path / name).write_bytes(b"kept")
    (tmp_path / others[-1]).symlink_to(".a.credo-part")
    with atomic_file(tmp_path / "a") as first:
        first.write(b"first")
        with atomic_file(tmp_path / "a") as second:
            second.write(b"second")
        assert (tmp_path / "a").read_bytes() == b"second"
    assert (tmp_path / "a").read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == sorted(["a", *others])


def test_a_part_that_a_sweeper_has_locked_is_left_to_it(tmp_path, monkeypatch):
    swept = tmp_path / ".a.00000000.credo-part"
    names, plain_open, held = iter(["00000000", "11111111"]), os.open, []

    def opened(path, flags, mode=0o777):
        descriptor = plain_open(path, flags, mode)
        if path == swept and not held:
            held.append(plain_open(swept, os.O_RDWR))
            fcntl.flock(held[0], fcntl.LOCK_EX)
        return descriptor

    monkeypatch.setattr("secrets.token_hex", lambda _: next(names))
    monkeypatch.setattr(os, "open", opened)
    with atomic_file(tmp_path / "a") as file:
        file.write(b"whole")
        swept.unlink()
    os.close(held[0])
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a"]
