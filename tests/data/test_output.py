import os

import pytest

from credo.data import OutputError, atomic_file, require_writable


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
