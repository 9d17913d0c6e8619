"""Studies in a SQLite file."""

import pytest

from tests.study.study_contract import StudyContract


class TestSqlite(StudyContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path / 'studies.db'}"
