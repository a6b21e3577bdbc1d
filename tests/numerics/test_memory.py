import math
import pickle
import threading

import numpy as np
import pytest

from credo.numerics import array as memory
from credo.numerics.array import work_array
from credo.numerics.memory import RESERVE, bytes_of, bytes_text, spare_bytes


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (12, 12.0),
        (1.5e9, 1.5e9),
        ("12", 12.0),
        ("12B", 12.0),
        ("3KB", 3e3),
        ("2 mb", 2e6),
        ("1.5 GB", 1.5e9),
        (" 0.25TB ", 2.5e11),
        ("1e3 KB", 1e6),
    ],
)
def test_sizes_are_bytes_or_texts_with_a_unit(size, expected):
    found = bytes_of(size)
    assert found == expected
    assert isinstance(found, float)


@pytest.mark.parametrize("size", ["", "GB", "four GB", "4 XB", "4 GBB", "1,5GB"])
def test_a_size_that_cannot_be_read_is_shown_with_the_units(size):
    with pytest.raises(ValueError, match=r"must be bytes or a text.*found .*Units are B, KB"):
        bytes_of(size)


UNLIMITED = "Max address space   unlimited   unlimited   bytes\n"


def system(folder, files):
    """A folder in which a system tells of a process and its control groups."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "process", folder / "groups"


def test_nothing_limits_a_process_of_which_nothing_is_told(tmp_path):
    assert spare_bytes(tmp_path / "process", tmp_path / "groups") == math.inf
    told = {"process/limits": UNLIMITED, "process/status": "VmSize:\t  1000 kB\n"}
    assert spare_bytes(*system(tmp_path, told)) == math.inf


@pytest.mark.parametrize(
    ("limit", "counter"), [("Max address space", "VmSize"), ("Max data size", "VmData")]
)
def test_a_ulimit_leaves_what_the_process_has_not_taken(tmp_path, limit, counter):
    told = {
        "process/limits": f"Limit   Soft Limit   Hard Limit\n{limit}  8000000000  unlimited\n",
        "process/status": f"VmPeak:\t 999999 kB\n{counter}:\t  1000000 kB\n",
    }
    assert spare_bytes(*system(tmp_path, told)) == 8e9 - 1024e6 - RESERVE


def test_the_tightest_control_group_of_version_two_counts(tmp_path):
    told = {
        "process/cgroup": "0::/slice/job\n",
        "groups/slice/memory.max": "3000000000\n",
        "groups/slice/memory.current": "1500000000\n",
        "groups/slice/memory.stat": "anon 1\ninactive_file 500000000\n",
        "groups/slice/job/memory.max": "max\n",
        "groups/slice/job/memory.current": "1000000000\n",
    }
    assert spare_bytes(*system(tmp_path, told)) == 2e9 - RESERVE


def test_control_groups_of_version_one_and_places_out_of_sight_count(tmp_path):
    told = {
        "process/cgroup": "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n",
        "groups/memory/memory.limit_in_bytes": "1000000000\n",
        "groups/memory/memory.usage_in_bytes": "400000000\n",
    }
    assert spare_bytes(*system(tmp_path, told)) == 6e8 - RESERVE
    told["groups/memory/memory.usage_in_bytes"] = "2000000000\n"
    assert spare_bytes(*system(tmp_path, told)) == 0


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (999.7, "1 kB"),
        (1_000, "1 kB"),
        (999_900, "1 MB"),
        (123_456, "123 kB"),
        (2e9, "2 GB"),
        (7.5e12, "7.5 TB"),
        (4e21, "4,000,000 PB"),
    ],
)
def test_a_size_is_told_in_the_unit_that_fits(n_bytes, text):
    assert bytes_text(n_bytes) == text


@pytest.fixture
def no_memory_left(monkeypatch):
    monkeypatch.setattr(memory, "_free", {})


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_of_a_work_array_is_used_again_only_when_nothing_refers_to_it(no_memory_left):
    first = work_array((300, 400))
    place, part = address(first), first[:10]
    part[...] = 7.0
    del first
    assert address(work_array((300, 400))) != place
    assert np.all(part == 7.0)
    del part
    # What was asked for in between comes back as well, and may be given out before it.
    both = [work_array((400, 300)), work_array((120_000,))]
    assert place in [address(array) for array in both]
    assert address(both[0]) != address(both[1])


def test_little_memory_is_kept_and_sizes_of_the_past_make_room(no_memory_left, monkeypatch):
    monkeypatch.setattr(memory, "KEPT_BYTES", 3_000_000)
    several = [work_array((300, 400)) for _ in range(5)]
    del several
    assert sum(len(left) for left in memory._free.values()) == 3
    other = work_array((400, 400))
    del other
    assert memory._free == {}
    work_array((400, 400))
    assert list(memory._free) == [160_000]
    assert not memory._free.get(6)
    small = work_array((2, 3))
    del small
    assert list(memory._free) == [160_000]


def test_work_arrays_of_threads_never_share_memory(no_memory_left):
    failed = []

    def work(number):
        for _ in range(200):
            own = work_array((200, 200))
            own[...] = number
            if not np.all(own == number):
                failed.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_work_array_can_be_kept_in_a_file():
    array = work_array((300, 400))
    array[...] = 1.5
    assert np.array_equal(pickle.loads(pickle.dumps(array)), array)
