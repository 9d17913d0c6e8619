from policysieve.report import Table

DASH = "\N{EN DASH}"


def test_numbers_of_a_column_are_written_alike():
    table = Table("t", ["name", "x", "n"], [["a", 0.5, 1000], ["b", None, 7], ["c", 0.25, None]])
    assert table.texts == [("a", "0.5000", "1,000"), ("b", DASH, "7"), ("c", "0.2500", DASH)]


def test_columns_of_numbers():
    table = Table("t", ["name", "x", "verdict"], [["a", 0.5, "good"], ["b", None, None]])
    assert table.numeric == [False, True, False]


def test_no_rows():
    assert Table("t", ["a", "b"], []).texts == []
