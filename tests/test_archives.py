import os
import zipfile

import numpy as np
import pytest

import policysieve as ps
from policysieve.archives import arrays_in, mapped_array


def array_in(path, name, **limits):
    (array,) = arrays_in(path, name, **limits)
    return array


def npy(header, data=b""):
    """A ``.npy`` file with any header."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def archive(path, header, zeros=0):
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file,
        file.open("weights.npy", "w") as member,
    ):
        member.write(npy(header))
        for _ in range(zeros // 1_000_000):
            member.write(bytes(1_000_000))
    return path


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': %s}"
DAMAGED = [
    HEADER % "(1000000000000000000, 2)",
    HEADER % "(99999999999999999999, 2)",
    HEADER % "(-1, 2)",
    HEADER % "('a', 2)",
    HEADER.replace("<f8", "|O") % "(1, 2)",
    HEADER.replace("<f8", "zz") % "(1, 2)",
    "{",
    "(" * 3000,
]


@pytest.mark.parametrize("header", DAMAGED)
def test_a_damaged_header_is_an_error_that_names_the_file(tmp_path, header):
    (tmp_path / "a.npy").write_bytes(npy(header))
    with pytest.raises(ps.FileFormatError, match=r"a\.npy is not a readable"):
        mapped_array(tmp_path / "a.npy")
    with pytest.raises(ps.FileFormatError, match=r"a\.npz"):
        array_in(archive(tmp_path / "a.npz", header), "weights")


def test_every_truncation_of_an_archive_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, weights=np.ones((2, 2, 2)))
    whole = path.read_bytes()
    assert np.array_equal(array_in(path, "weights"), np.ones((2, 2, 2)))
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ps.FileFormatError, match=r"is not a readable \.npz archive"):
            array_in(path, "weights")


def test_flipped_bytes_give_the_array_or_an_error_of_ours(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", weights=np.ones((2, 2)))
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    for name, read in (("a.npz", lambda path: array_in(path, "weights")), ("a.npy", mapped_array)):
        whole = (tmp_path / name).read_bytes()
        for _ in range(200):
            bad = bytearray(whole)
            bad[rng.integers(len(bad))] = rng.integers(256)
            (tmp_path / f"bad{name}").write_bytes(bad)
            try:
                assert isinstance(read(tmp_path / f"bad{name}"), np.ndarray)
            except ps.FileFormatError as error:
                assert f"bad{name}" in str(error)  # noqa: PT017


def test_an_archive_that_unpacks_to_much_is_refused_before_it_is_unpacked(tmp_path):
    path = archive(tmp_path / "a.npz", HEADER % "(2000000,)", zeros=16_000_000)
    assert os.path.getsize(path) < 100_000
    with pytest.raises(ps.FileFormatError, match="take 16,000,000 bytes, and 1,000,000 are allow"):
        array_in(path, "weights", max_bytes=1_000_000)
    assert array_in(path, "weights").shape == (2_000_000,)
    with pytest.raises(ps.FileFormatError, match=r"take 8,000,000,000,000 bytes"):
        array_in(archive(path, HEADER % "(1000000000000,)"), "weights")


def test_an_archive_that_is_as_large_as_its_arrays_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.archives.MAX_BYTES", 1000)
    np.savez(tmp_path / "a.npz", weights=np.ones(1000))
    assert array_in(tmp_path / "a.npz", "weights").shape == (1000,)
    path = archive(tmp_path / "b.npz", HEADER % "(2000000,)", zeros=16_000_000)
    with pytest.raises(ps.FileFormatError, match=r"any size; ask for it$"):
        array_in(path, "weights", advice="ask for it")


def test_an_archive_is_no_array_and_has_the_names_it_has(tmp_path):
    np.savez(tmp_path / "a.npz", other=np.ones(2))
    with pytest.raises(ps.FileFormatError, match="no array named weights"):
        array_in(tmp_path / "a.npz", "weights")
    with pytest.raises(ps.FileFormatError, match="is an archive, not one"):
        mapped_array(tmp_path / "a.npz")
