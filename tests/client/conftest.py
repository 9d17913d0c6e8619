"""Studies that are not synced: no machine is lost here."""

import pytest


@pytest.fixture(autouse=True, scope="package")
def not_synced():
    """Do not wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")
        yield
