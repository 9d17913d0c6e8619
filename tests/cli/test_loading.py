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
        ("broken_call:other", "AttributeError: broken_call has no 'other'; it has make"),
        ("broken_call:mke", r"AttributeError: .*; did you mean 'make'\?"),
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


def test_a_file_without_a_name_is_told_how_to_say_it():
    with pytest.raises(ps.InvalidArgumentError, match=r"say pol\.py:policies$"):
        load_policies("pol.py", None, 1)


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


TABLE = "import numpy as np\nimport policysieve as ps\nfrom {helper} import N\n\n"
TABLE += "def make():\n    return ps.PolicyTable(np.zeros((N, 2), int), n_actions=3)\n\n"
TABLE += "made = make()\n"


@pytest.fixture
def outside(tmp_path):
    """A folder that is not the one in which commands are run, with files that import others."""
    folder = tmp_path / "else where"
    folder.mkdir()
    (folder / "beside_it.py").write_text("N = 4\n")
    (folder / "pol.py").write_text(TABLE.format(helper="beside_it"))
    (folder / "json.py").write_text(TABLE.format(helper="beside_it"))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["make", "made"])
def test_policies_of_a_file_in_any_folder(outside, name):
    path = list(sys.path)
    policies = load_policies(f"{outside / 'pol.py'}:{name}", None, 1)
    assert (policies.n_contexts, policies.n_policies) == (4, 2)
    assert sys.path == path


def test_a_file_is_run_once_and_its_module_has_its_name(outside):
    first = load_policies(f"{outside / 'pol.py'}:made", None, 1)
    assert load_policies(f"{outside / 'pol.py'}:made", None, 1) is first
    assert sys.modules["pol"].made is first


def test_a_file_takes_no_place_of_another_module(outside):
    import json

    assert load_policies(f"{outside / 'json.py'}:made", None, 1).n_policies == 2
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("pol.py", "with the name of a policy class"),
        ("C:\\pol.py", "with the name of a policy class"),
        ("nothing.py:made", "FileNotFoundError: no file .*nothing.py"),
        ("pol.py:other", "AttributeError"),
        ("broken.py:made", "SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_an_error_with_its_reason(
    outside, monkeypatch, source, reason
):
    monkeypatch.chdir(outside)
    (outside / "broken.py").write_text(MODULES["broken_syntax"])
    with pytest.raises(ps.InvalidArgumentError, match=reason):
        load_policies(source, None, 1)
    assert "broken" not in sys.modules
