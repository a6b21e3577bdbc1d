import io
import json
import os
import re
import zipfile
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from credo.data import (
    ModelFileError,
    OutputError,
    TablePreparation,
    load,
    model_file_info,
    save,
)
from credo.data.model_file import model_file

FRAME = pd.DataFrame({"x": [1.0, None, 3.0], "c": ["a", "b", "a"], "y": [1.0, 2.0, 3.0]})
VALUE = {
    "preparation": TablePreparation.learn(FRAME, "y"),
    "weights": np.linspace(0, 1, 5),
    "names": np.array(["a", "b"]),
    "score": (1.5, float("inf")),
}


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=True)
    return buffer.getvalue()


def equal(a, b):
    return (
        list(a) == list(b)
        and a["preparation"] == b["preparation"]
        and np.array_equal(a["weights"], b["weights"])
        and np.array_equal(a["names"], b["names"])
        and a["score"] == b["score"]
    )


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "whole.credo"
    save(VALUE, path, fingerprint="f" * 64)
    return path


def members(path):
    with zipfile.ZipFile(path) as source:
        return {name: source.read(name) for name in source.namelist()}


def rebuild(path, content, document=None, comment=None, compress=zipfile.ZIP_STORED):
    """Write a file with valid checksums around hostile content, as an attacker would."""
    arrays = [v for name, v in content.items() if name != "model.json"]
    if document is None:
        document = json.loads(content["model.json"])
    if isinstance(document, dict):
        document = {"arrays": [sha256(a).hexdigest() for a in arrays], **document}
        document = json.dumps(document)
    raw = document if isinstance(document, bytes) else document.encode()
    with zipfile.ZipFile(path, "w", compress) as target:
        for name, value in content.items():
            if name != "model.json":
                target.writestr(name, value)
        target.writestr("model.json", raw)
        target.comment = comment or b"credo sha256 " + sha256(raw).hexdigest().encode()
    return path


def document_of(path, **changes):
    document = json.loads(members(path)["model.json"])
    del document["arrays"]
    return {**document, **changes}


def test_what_was_saved_is_loaded(whole):
    assert equal(load(whole), VALUE)
    assert load(whole)["weights"].flags.writeable


def test_the_helper_that_builds_hostile_files_can_build_a_good_one(whole, tmp_path):
    path = rebuild(tmp_path / "copy.credo", members(whole), document_of(whole))
    assert equal(load(path), VALUE)


def test_the_file_says_what_it_is(whole):
    info = model_file_info(whole)
    assert info.class_name == "dict"
    assert info.schema_version == 1
    assert info.fingerprint == "f" * 64
    assert info.libraries["numpy"] == np.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", info.created)
    assert info.n_arrays == 2
    assert info.n_bytes == os.path.getsize(whole)


def test_the_class_of_a_registered_object_is_named(tmp_path):
    save(VALUE["preparation"], tmp_path / "p.credo")
    assert model_file_info(tmp_path / "p.credo").class_name == "TablePreparation"
    assert model_file_info(tmp_path / "p.credo").fingerprint is None
    assert load(tmp_path / "p.credo") == VALUE["preparation"]


def test_constant_arrays_do_not_look_like_bombs(tmp_path):
    save(np.zeros(1_000_000), tmp_path / "zeros.credo")
    assert_array_equal(load(tmp_path / "zeros.credo"), np.zeros(1_000_000))


def test_a_value_that_cannot_be_stored_leaves_the_old_file(whole):
    before = whole.read_bytes()
    said = r"dict\.f must be .* found an object of class.*use save_network"
    with pytest.raises(ModelFileError, match=said):
        save({"f": print}, whole)
    assert whole.read_bytes() == before
    assert os.listdir(whole.parent) == ["whole.credo"]


def test_an_unwritable_place_is_one_sentence(tmp_path):
    with pytest.raises(OutputError, match=r"^.*found no folder.*\.$"):
        save(VALUE, tmp_path / "absent" / "m.credo")


def test_a_value_beyond_the_limits_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "MAX_TOTAL_SIZE", 1000)
    with pytest.raises(ModelFileError, match="1000 bytes at most; found 8000"):
        save(np.arange(1000.0), tmp_path / "m.credo")
    assert os.listdir(tmp_path) == []


def assert_refused(path, part):
    with pytest.raises(ModelFileError, match=re.escape(part)) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path.name} must ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-100],
        lambda raw: raw[: len(raw) // 2],
        lambda raw: b"",
        lambda raw: b"a,b\n1,2\n",
        lambda raw: b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
    ],
    ids=["truncated", "half", "empty", "text", "pickle"],
)
def test_what_is_not_a_whole_zip_is_refused(whole, tmp_path, damage):
    path = tmp_path / "hostile.credo"
    path.write_bytes(damage(whole.read_bytes()))
    assert_refused(path, "must be a whole credo model file")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("word/document.xml", "only its own members; found 'word/document.xml'"),
        ("arrays/0.npy", "must hold model.json; found none"),
    ],
)
def test_another_zip_is_refused(tmp_path, name, part):
    path = tmp_path / "hostile.credo"
    with zipfile.ZipFile(path, "w") as target:
        target.writestr(name, npy([1.0]))
    assert_refused(path, part)


def header(shape):
    buffer = io.BytesIO()
    fields = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, fields)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("../../evil.npy", npy([1.0]), "only its own members; found '../../evil.npy'"),
        ("/etc/passwd", b"root", "only its own members; found '/etc/passwd'"),
        ("run.py", b"print(1)", "only its own members; found 'run.py'"),
        ("arrays/00.npy", npy([1.0]), "only its own members; found 'arrays/00.npy'"),
        ("arrays/2.npy", npy([1.0]), "must use every array"),
        ("arrays/0.npy", npy(np.array([{}], dtype=object)), "dtype object"),
        ("arrays/0.npy", npy(np.zeros(2, dtype="f8,i4")), "an array of dtype"),
        ("arrays/0.npy", npy(np.zeros(2, dtype=complex)), "dtype complex128"),
        ("arrays/0.npy", npy(np.zeros((1, 1, 1, 1, 1))), "5 dimensions"),
        ("arrays/0.npy", header((10**15,)) + bytes(16), "arrays/0.npy of another size"),
        ("arrays/0.npy", header((3,)) + bytes(16), "arrays/0.npy of another size"),
        ("arrays/0.npy", header((1,)) + bytes(16), "arrays/0.npy of another size"),
        ("arrays/0.npy", header((-1, -2)) + bytes(16), "arrays/0.npy of another size"),
        ("arrays/0.npy", header((2, -1, 0)), "arrays/0.npy of another size"),
        ("arrays/0.npy", b"MZ" * 50, "cannot be read"),
        ("arrays/0.npy", b"", "cannot be read"),
        ("arrays/0.npy", b"\x93NUMPY\x03\x00" + bytes(50), "npy version 1 or 2"),
    ],
)
def test_hostile_members_are_refused_though_their_checksums_hold(
    whole, tmp_path, name, content, part
):
    path = tmp_path / "hostile.credo"
    rebuild(path, {**members(whole), name: content}, document_of(whole))
    assert_refused(path, part)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def column(**fields):
    return {"$": "value", "class": "Column", "fields": fields}


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"schema_version": 2}, "schema version 1, which this credo reads; found 2"),
        ({"schema_version": True}, "schema version 1, which this credo reads; found True"),
        ({"format": "onnx"}, "another kind of file"),
        ({"hook": "os.system"}, "['hook'] unknown"),
        ({"arrays": []}, "found arrays without a checksum"),
        ({"arrays": {"0": "x"}}, "found arrays without a checksum"),
        ({"arrays": ["0" * 64, "0" * 64]}, "arrays/0.npy edited or damaged"),
        ({"value": {"$": "array", "place": 5}}, "found no array 5"),
        ({"value": column(name="x", kind="virus", note="")}, "found 'virus'"),
        ({"value": column(name="x")}, "must give Column what it has"),
        ({"value": {**column(), "class": "subprocess.Popen"}}, "found 'subprocess.Popen'"),
        ({"value": {**column(), "class": "Pipeline"}}, "registry; found 'Pipeline'"),
        ({"value": {"$": "__reduce__"}}, "known keys only"),
        ({"value": nested(200)}, "nest deeper than"),
    ],
)
def test_hostile_documents_are_refused_though_their_checksums_hold(
    whole, tmp_path, changes, part
):
    path = tmp_path / "hostile.credo"
    rebuild(path, members(whole), document_of(whole, **changes))
    assert_refused(path, part)


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ('{"format": ', "JSONDecodeError"),
        ('{"format": NaN}', "strict JSON; found NaN"),
        ("[1, 2]", "must hold a JSON object"),
        ('{"format": 1, "format": 2}', "each JSON key once"),
        ("[" * 100_000 + "]" * 100_000, "RecursionError"),
        (b'{"format": "\xe9"}', "UnicodeDecodeError"),
        ('{"format": ' + "9" * 10_000 + "}", "cannot be read"),
    ],
    ids=["cut", "nan", "list", "repeated", "deep", "latin", "huge"],
)
def test_json_that_is_not_ours_is_refused(whole, tmp_path, document, part):
    path = tmp_path / "hostile.credo"
    rebuild(path, members(whole), document)
    assert_refused(path, part)


def test_an_absent_key_is_refused(whole, tmp_path):
    document = document_of(whole)
    del document["libraries"]
    path = rebuild(tmp_path / "hostile.credo", members(whole), document)
    assert_refused(path, "['libraries'] unknown or absent")


def test_an_absent_array_is_refused(whole, tmp_path):
    content = members(whole)
    del content["arrays/1.npy"]
    path = rebuild(tmp_path / "hostile.credo", content, document_of(whole))
    assert_refused(path, "found no array 1")


@pytest.mark.parametrize("comment", [None, b"hello"])
def test_an_edited_document_is_refused(whole, tmp_path, comment):
    with zipfile.ZipFile(whole) as good:
        comment = comment or good.comment
    document = document_of(whole, created="long ago")
    path = rebuild(tmp_path / "hostile.credo", members(whole), document, comment)
    assert_refused(path, "found model.json edited or damaged")


@pytest.mark.parametrize(
    ("compress", "part"),
    [
        (zipfile.ZIP_DEFLATED, "must not expand more than 100 times; found arrays/0.npy"),
        (zipfile.ZIP_LZMA, "found arrays/0.npy compressed oddly"),
    ],
)
def test_a_zip_bomb_is_refused(whole, tmp_path, compress, part):
    content = {**members(whole), "arrays/0.npy": npy(np.zeros(200_000))}
    path = tmp_path / "hostile.credo"
    rebuild(path, content, document_of(whole), compress=compress)
    assert_refused(path, part)


def test_a_member_listed_twice_is_refused(whole, tmp_path):
    raw = whole.read_bytes().replace(b"arrays/1.npy", b"arrays/0.npy")
    (tmp_path / "twice.credo").write_bytes(raw)
    with pytest.raises(ModelFileError, match="each member once"):
        load(tmp_path / "twice.credo")


def test_an_encrypted_member_is_refused(whole, tmp_path):
    raw = bytearray(whole.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(signature) + offset] |= 1
    (tmp_path / "locked.credo").write_bytes(raw)
    with pytest.raises(ModelFileError, match="must not be encrypted"):
        load(tmp_path / "locked.credo")


@pytest.mark.parametrize(
    ("limit", "value", "part"),
    [
        ("MAX_MEMBERS", 2, "at most 2 members; found 3"),
        ("MAX_TOTAL_SIZE", 100, "100 bytes at most"),
        ("MAX_DOCUMENT_SIZE", 100, "up to 100 bytes"),
    ],
)
def test_a_file_beyond_the_limits_is_refused(whole, monkeypatch, limit, value, part):
    monkeypatch.setattr(model_file, limit, value)
    with pytest.raises(ModelFileError, match=part):
        load(whole)


def test_an_absent_file_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="must be a file; found none"):
        load(tmp_path / "no.credo")
    with pytest.raises(ModelFileError):
        load(tmp_path)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)),
        min_size=1,
        max_size=3,
    )
)
def test_flipped_bytes_are_refused_or_change_nothing(whole, changes):
    raw = bytearray(whole.read_bytes())
    for where, mask in changes:
        raw[int(where * len(raw))] ^= mask
    path = whole.with_name("flipped.credo")
    path.write_bytes(raw)
    try:
        value = load(path)
    except ModelFileError:
        return
    assert equal(value, VALUE)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(share=st.floats(0, 1, exclude_max=True))
def test_every_truncation_is_refused(whole, share):
    raw = whole.read_bytes()
    path = whole.with_name("cut.credo")
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(ModelFileError):
        load(path)
