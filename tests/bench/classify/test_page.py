from policysieve.bench.classify.page import tables
from tests.bench.results import BENCHES


def test_a_checkpoint_that_was_not_passed():
    (table,) = tables(BENCHES["classify"]).values()
    assert table.columns == ["contestant", "1,000", "2,000", "5,000", "rounds per second"]
    assert table.rows[1] == ["peer_slow", 0.2, 0.3, None, 1234]
    assert table.texts[0] == ("policysieve", "0.2500", "0.5000", "0.7500", "1,234")
