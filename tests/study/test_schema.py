"""Databases of older schemas are brought up to date, those of later ones refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import create_engine, func, select, text, update

import policysieve as ps
from policysieve.exploration.designs.saving import ExplorationFile
from policysieve.study import schema
from tests.study.cases import PROBLEM, contexts, linear, play, rewards_of

DATA = Path(__file__).parent / "data"


def versions():
    return sorted(int(path.stem.partition("-")[2]) for path in DATA.glob("schema-*.db"))


def copied(version, folder):
    path = folder / "studies.db"
    shutil.copy(DATA / f"schema-{version}.db", path)
    return f"sqlite:///{path}"


def test_a_file_of_every_schema_is_kept():
    assert versions() == list(range(1, schema.SCHEMA + 1))


@pytest.mark.parametrize("version", versions())
def test_studies_of_every_schema_go_on(version, tmp_path):
    study = ps.Study.open(copied(version, tmp_path), "shop", linear())
    status = study.status()
    assert (status.rounds, status.told, status.discarded, status.open) == (114, 110, 1, 3)
    assert study.decisions(["order 2"]).numbers.tolist() == [109]
    assert study.verify().holds
    waiting = study.open_decisions()
    np.testing.assert_array_equal(waiting.contexts, contexts(3, seed=79))
    study.tell(waiting, rewards_of(waiting))
    play(study, 2, 9, start=12)
    assert study.status().learnt == 132
    assert study.verify().holds


@pytest.mark.parametrize("version", versions())
def test_studies_of_every_schema_go_on_as_new_ones_do(version, tmp_path):
    """The same seed and the same calls give the same bits, whichever release decided before."""
    old = ps.Study.open(copied(version, tmp_path), "shop", linear())
    new = ps.Study.create(f"sqlite:///{tmp_path / 'new.db'}", "shop", linear(), PROBLEM, seed=5)
    play(new, 12, 9)
    np.testing.assert_array_equal(old.log().actions[:108], new.log().actions)


def test_steps_are_taken_in_order_and_once(tmp_path, monkeypatch):
    url, taken = copied(1, tmp_path), []

    def step(connection):
        taken.append(connection.execute(text("SELECT version FROM ps_schema")).scalar_one())
        connection.execute(text("ALTER TABLE ps_studies ADD COLUMN colour TEXT"))

    monkeypatch.setattr(schema, "SCHEMA", schema.SCHEMA + 1)
    monkeypatch.setitem(schema.STEPS, schema.SCHEMA - 1, step)
    for _ in range(2):
        assert ps.Study.open(url, "shop", linear()).status().rounds == 114
    assert taken == [schema.SCHEMA - 1]


def test_a_later_schema_is_refused_and_nothing_is_changed(tmp_path):
    url = copied(1, tmp_path)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE ps_schema SET version = 99"))
    engine.dispose()
    before = (tmp_path / "studies.db").read_bytes()
    with pytest.raises(ps.FileFormatError, match="schema 99"):
        ps.Study.open(url, "shop", linear())
    assert (tmp_path / "studies.db").read_bytes() == before


@pytest.mark.parametrize(("change", "rounded"), [(1e-15, 1), (1e-6, 0)])
def test_another_kind_of_processor_may_round_otherwise_but_no_more(change, rounded, tmp_path):
    """Its last digits differ, in which no difference is meant; larger ones are told."""
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    with ps.Study.create(url, "shop", linear(), PROBLEM, seed=5) as study:
        play(study, 12, 9)
        newest = study.exploration
        other = replace(newest, need=np.minimum(newest.need, 1 - change) * (1 + change / 2))
        assert not other.same_as(newest)
        content = ExplorationFile.of(other).to_bytes()
        with study._storage.writing() as connection:
            latest = select(func.max(schema.explorations.c.version)).scalar_subquery()
            connection.execute(
                update(schema.explorations)
                .where(schema.explorations.c.version == latest)
                .values(content=content)
            )
    found = ps.Study.open(url, "shop", linear()).verify()
    assert (found.holds, found.rounded) == (bool(rounded), rounded)
    assert ("last digits" in found.verdict) == bool(rounded)
