"""Studies on PostgreSQL."""

import pytest

from tests.study.study_contract import StudyContract


class TestPostgresql(StudyContract):
    @pytest.fixture
    def url(self, database):
        return database
