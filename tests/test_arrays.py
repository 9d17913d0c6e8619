from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import policysieve as ps
from policysieve.arrays import plain_array, real_numbers, same_numbers, shown

COLUMNS = {
    "contexts": [3, 4],
    "actions": [0, 1],
    "propensities": [0.5, 0.5],
    "rewards": [1, 0],
}


class Frame:
    """What a data frame looks like from outside."""

    def __init__(self, *columns):
        self.columns = columns

    def __array__(self, dtype=None, copy=None):
        return np.ones((2, 2))


def log(**changed):
    return ps.Log(**{**COLUMNS, **changed})


@pytest.mark.parametrize("name", COLUMNS)
def test_masked_entries_are_refused(name):
    kind = int if name in ("contexts", "actions") else float
    hidden = np.ma.array([1, 1], mask=[False, True], dtype=kind)
    with pytest.raises(ps.InvalidArgumentError, match=f"{name} must not be masked, 1 of them"):
        log(**{name: hidden})
    with pytest.raises(ps.InvalidArgumentError, match="must not be masked"):
        log(**{name: [hidden[:1], hidden[1:]]})
    full = np.ma.array(COLUMNS[name], mask=False)
    assert log(**{name: full}) == log()


@pytest.mark.parametrize("name", ["propensities", "rewards"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1 + 1j, 1]), "complex128; their imaginary part would be lost"),
        (["1", "1"], "convert them with astype"),
        (np.array([b"1", b"1"]), "convert them with astype"),
        (np.array([1, 1], "M8[s]"), "a date is no number"),
        (np.array([1, 1], "m8[s]"), "a duration is no number"),
        (np.array([(1.0,), (1.0,)], dtype=[("a", "f8")]), "got dtype"),
        ([10**400, 1], r"got about 10\^400 in entry 0"),
        (np.array(["1", 1], dtype=object), "got '1' in entry 0"),
        (np.array([1, 1 + 0j], dtype=object), "in entry 1"),
        ([[1], [1, 1]], "got ragged rows"),
        (object(), "got <object"),
    ],
)
def test_what_is_no_number_is_refused(name, values, message):
    with pytest.raises(ps.InvalidArgumentError, match=f"{name} must be numbers.*{message}"):
        log(**{name: values})


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        np.array([1, 0], dtype=np.uint8),
        np.array([1, 0], dtype=">f4"),
        np.array([1, 0], dtype=np.longdouble),
        [Fraction(1), Fraction(0)],
        [Decimal(1), 0],
        np.array([np.bool_(True), 0.0], dtype=object),
        pa.array([1, 0]),
    ],
)
def test_every_kind_of_real_number_is_a_reward(values):
    assert log(rewards=values) == log()


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_reward_is_refused_with_what_to_do_at_its_deadline(missing):
    with pytest.raises(ps.InvalidArgumentError, match=r"got nan in row 1; .* its deadline as 0"):
        log(rewards=[1, missing])


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([b"a", b"b"], "decode bytes"),
        (np.array([b"a", b"b"], dtype=object), "got bytes in entry 0"),
        (["a", 1], "got int in entry 1; pass numbers of one kind"),
        ([10**400, 1], "got int in entry 0; pass numbers of one kind"),
        (["a", "\ud800"], "half of a surrogate pair in entry 1"),
        (np.array([1, 2], dtype=np.longdouble), "at most 64 bits"),
        ([[1], [1, 2]], "got ragged rows"),
    ],
)
def test_contexts_that_would_change_on_the_way_are_refused(contexts, message):
    with pytest.raises(ps.InvalidArgumentError, match=f"contexts must be .*{message}"):
        log(contexts=contexts)


def test_contexts_stay_what_they_are():
    assert log(contexts=["a\0", "ä"]).contexts.tolist() == ["a\0", "ä"]
    swapped = log(contexts=np.array([3, 4], dtype=">i4")).contexts
    assert swapped.dtype.isnative
    assert swapped.tolist() == [3, 4]


@pytest.mark.parametrize(
    "frame", [Frame("age", "height"), pa.table({"age": [1.0, 2.0], "height": [1.0, 2.0]})]
)
def test_classes_that_number_columns_refuse_frames_whose_columns_may_come_in_another_order(frame):
    table = ps.PolicyTable([[0, 1], [1, 0], [1, 1]], n_actions=2)
    calls = [
        lambda: table.actions(frame),
        lambda: ps.LinearPolicies(np.ones((2, 2, 2))).actions(frame),
        lambda: ps.StumpPolicies(frame, n_actions=2),
    ]
    for call in calls:
        with pytest.raises(ps.InvalidArgumentError, match=r"contexts\[columns\].to_numpy\(\)"):
            call()


@pytest.mark.parametrize("kind", [ps.BanditClassifier, ps.BanditListClassifier])
def test_a_classifier_takes_frames_by_the_names_of_their_columns(kind):
    rows = pa.table({"age": [1.0, 2.0], "height": [0.5, 2.0]})
    learner = kind(classes=["a", "b"], random_state=0)
    with pytest.raises(ps.InvalidArgumentError, match=r"pass frame\[columns\].to_numpy\(\)"):
        learner.ask(Frame("age", "height"))
    assert len(learner.ask(rows)) == 2
    with pytest.raises(ps.InvalidArgumentError, match="must be in the same order"):
        learner.ask(rows.select(["height", "age"]))
    assert learner.pending == 2


@pytest.mark.parametrize(
    "rows",
    [
        [["1", "2"]],
        np.array([[b"1", b"2"]]),
        np.array([["1", 2]], dtype=object),
        np.array([[1, 2]], "m8[s]"),
        np.ma.array([[1.0, 2.0]], mask=[[False, True]]),
        np.array([[1 + 1j, 2]]),
        [[10**400, 1]],
        [[object(), 1]],
    ],
)
@pytest.mark.parametrize("kind", [ps.BanditClassifier, ps.BanditListClassifier])
def test_a_classifier_refuses_features_that_are_no_numbers(kind, rows):
    learner = kind(classes=["a", "b"], random_state=0)
    with pytest.raises(ps.InvalidArgumentError):
        learner.ask(rows)
    assert learner.pending == 0


@pytest.mark.parametrize("kind", [ps.BanditClassifier, ps.BanditListClassifier])
def test_a_classifier_takes_columns_that_are_numbered_by_their_places(kind):
    learner = kind(classes=["a", "b"], random_state=0)
    assert len(learner.ask(Frame(0, 1))) == 2
    assert len(learner.ask(np.ones((1, 2)))) == 1


@pytest.mark.parametrize("columns", [(0, 1), ("a", "b")])
def test_labels_may_come_in_a_data_frame(columns):
    learner = ps.BanditListClassifier(classes=["a", "b"], random_state=0)
    learner.fit(np.ones((2, 3)), Frame(*columns))
    assert learner.score(np.ones((2, 3)), Frame(*columns)) == 1


def test_labels_that_are_texts_are_refused_in_one_sentence():
    learner = ps.BanditListClassifier(classes=["a", "b"], random_state=0)
    with pytest.raises(ps.InvalidArgumentError, match=r"^Y must be a matrix of numbers, got '1';"):
        learner.fit(np.ones((2, 3)), np.array([["1", 0], ["0", 1]], dtype=object))


class Attached:
    """As a tensor that gradients flow through."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("call detach() first")


@pytest.mark.parametrize("name", COLUMNS)
def test_what_an_object_says_of_why_it_is_no_array_is_told(name):
    with pytest.raises(ps.InvalidArgumentError, match=rf"{name} must be .*call detach\(\) first"):
        log(**{name: Attached()})


@pytest.mark.parametrize("epsilon", [Decimal("0.05"), Fraction(1, 20), np.float64(0.05)])
def test_a_single_number_may_be_of_every_kind_that_those_of_arrays_are(epsilon):
    assert ps.Problem(n_actions=2, epsilon=epsilon, delta=0.1).epsilon == 0.05


@pytest.mark.parametrize("epsilon", [Decimal("NaN"), Decimal("sNaN"), "0.05", True, 10**400, 1j])
def test_a_single_number_that_is_none_is_refused(epsilon):
    with pytest.raises(ps.InvalidArgumentError, match="epsilon must be a number with"):
        ps.Problem(n_actions=2, epsilon=epsilon, delta=0.1)


def test_other_arrays_of_numbers_have_the_same_rule():
    hidden = np.ma.array(np.full(2, 0.5), mask=[False, True])
    table = ps.PolicyTable([[0, 1], [1, 0]], n_actions=2)
    for call in (
        lambda: ps.LinearPolicies(np.ma.masked_all((2, 2, 2))),
        lambda: ps.LinearPolicies(np.full((2, 2, 2), "1")),
        lambda: ps.RandomizedPolicy(table, hidden),
        lambda: ps.RandomizedPolicy(table, ["1", "1"]),
        lambda: ps.PolicyTable(np.ma.array([[0, 1]], mask=[[True, False]]), n_actions=2),
        lambda: table.actions(np.ma.array([0, 1], mask=[True, False])),
        lambda: log(distributions=np.ma.array(np.eye(2), mask=np.eye(2))),
        lambda: ps.worlds.Classification(None, hidden.astype(int), contexts="rows"),
        lambda: ps.worlds.Multilabel(None, np.ma.masked_all((2, 2)), 1, contexts="rows"),
        lambda: ps.theory.dec(["1", "0"], 64.0, 1.0),
    ):
        with pytest.raises(ps.InvalidArgumentError):
            call()


def test_a_value_is_shown_short_whatever_it_is():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    assert shown(-(10**5000)) == "about -10^5000"
    assert shown(Odd()) == "a Odd whose repr raises RuntimeError"
    assert len(shown("x" * 1000)) == 80
    assert shown(1.5) == "1.5"


def test_a_plain_array_is_not_copied():
    numbers = np.arange(3.0)
    assert plain_array("x", numbers, "numbers") is numbers
    assert real_numbers("x", numbers, "numbers") is numbers


def test_numbers_are_the_same_within_a_share_of_their_size():
    one = np.array([1.0, 1e-20, np.nan])
    near = one * (1 + 1e-12)
    assert same_numbers(one[:2], one[:2].copy())
    assert not same_numbers(one, near)
    assert same_numbers(one, near, 1e-9)
    assert not same_numbers(one, one * (1 + 1e-6), 1e-9)
    assert not same_numbers(one, near[:2], 1e-9)
    assert not same_numbers(np.array([1, 2]), np.array([1, 3]), 0.9)  # counts are not rounded
    assert not same_numbers(None, 1.0, 1e-9)
