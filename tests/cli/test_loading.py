import sys

import numpy as np
import pytest

import policysieve as ps
from policysieve.cli.loading import load_policies

MODULES = {
    "broken_syntax": "def make(:\n",
    "broken_import": "raise RuntimeError('no data here')\n",
    "broken_exit": "import sys\nsys.exit(3)\n",
    "broken_call": "def make():\n    return {}['key']\n",
    "broken_bytes": "x = 1\n\0",
}


@pytest.fixture
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("_in_folder")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("broken_syntax:make", "SyntaxError"),
        ("broken_import:make", "RuntimeError: no data here"),
        ("broken_exit:make", "SystemExit: 3"),
        ("broken_call:make", "KeyError: 'key'"),
        ("broken_call:other", "AttributeError"),
        ("broken_bytes:make", "source code string cannot contain null bytes"),
        (":make", "ValueError"),
        ("..:make", "TypeError"),
        ("not_there:make", "ModuleNotFoundError"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_an_error_with_its_reason(source, reason):
    path = list(sys.path)
    with pytest.raises(ps.InvalidArgumentError, match=f"{source} cannot be loaded: .*{reason}"):
        load_policies(source, None, 1)
    assert sys.path == path


def test_truncated_weights_are_no_archive(tmp_path):
    np.savez(tmp_path / "w.npz", weights=np.ones((2, 3, 4)))
    assert load_policies(str(tmp_path / "w.npz"), None, 1).n_actions == 3
    whole = (tmp_path / "w.npz").read_bytes()
    (tmp_path / "w.npz").write_bytes(whole[:-40])
    with pytest.raises(ps.FileFormatError, match=r"w\.npz is not a readable \.npz archive"):
        load_policies(str(tmp_path / "w.npz"), None, 1)
    with pytest.raises(FileNotFoundError, match="no weights at"):
        load_policies(str(tmp_path / "other.npz"), None, 1)


def test_a_damaged_table_is_no_array(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((2, 3), dtype=np.uint8))
    whole = (tmp_path / "t.npy").read_bytes()
    (tmp_path / "t.npy").write_bytes(whole.replace(b"'shape': (2, 3)", b"'shape': (2, 3 "))
    with pytest.raises(ps.FileFormatError, match=r"t\.npy is not a readable \.npy array"):
        load_policies(str(tmp_path / "t.npy"), 3, 1)
