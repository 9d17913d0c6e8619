"""Named policies and named actions: names are taken and given, and numbers go on working."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import policysieve as ps
from policysieve.policies.thresholds import ThresholdPolicies, Thresholds

ACTIONS = ["shoes", "hats", "bags"]  # not in the order of the alphabet
ROWS = np.array([[0.0], [1.0], [2.0]])


def always(action):
    return lambda rows: [action] * len(rows)


class Scorer:
    """A model that can only score, as some services can."""

    def __init__(self, classes, scores):
        self.classes_, self._scores = np.array(classes), scores

    def predict_proba(self, rows):
        return np.tile(self._scores, (len(rows), 1))


def listed_classes():
    """One class of each kind, with two policies and three actions."""
    features = np.zeros(2, np.int64)
    return [
        lambda **given: ps.PolicyTable([[0, 1], [1, 2]], **given),
        lambda **given: ps.LinearPolicies(np.arange(6.0).reshape(2, 3, 1), **given),
        lambda **given: ps.EstimatorPolicies([Scorer([0, 1], [0.2, 0.8])] * 2, **given),
        lambda **given: ps.FunctionPolicies([always(0), always(2)], **given),
        lambda **given: ThresholdPolicies(
            features, np.array([[0.5], [1.5]]), np.array([[0, 1], [1, 2]]), **given
        ),
    ]


@pytest.mark.parametrize("make", listed_classes())
def test_every_listed_class_takes_names(make):
    policies = make(names=["old", "new"], actions=ACTIONS)
    contexts = [0, 1] if isinstance(policies, ps.PolicyTable) else ROWS[:2]
    assert policies.names == ("old", "new")
    assert policies.action_names == tuple(ACTIONS)
    assert policies.n_actions == 3
    assert [policies.name_of(i) for i in range(2)] == ["old", "new"]
    assert [policies.number_of(policy) for policy in ("new", 0)] == [1, 0]
    np.testing.assert_array_equal(
        policies.actions(contexts, which=["new", "old"]), policies.actions(contexts)[:, ::-1]
    )
    with pytest.raises(ps.InvalidArgumentError, match="did you mean 'new'"):
        policies.actions(contexts, which=["nwe"])
    with pytest.raises(ps.InvalidArgumentError, match="each of the 2 policies, got 1"):
        make(names=["old"], actions=ACTIONS)
    with pytest.raises(ps.InvalidArgumentError, match="different"):
        make(names=["old", "old"], actions=ACTIONS)


@pytest.mark.parametrize("make", listed_classes())
def test_names_are_part_of_the_fingerprint(make):
    count = {} if isinstance(make(actions=ACTIONS), ps.LinearPolicies) else {"n_actions": 3}
    kinds = [
        make(**count),
        make(names=["old", "new"], **count),
        make(names=["new", "old"], **count),
        make(actions=ACTIONS),
        make(actions=ACTIONS[::-1]),
    ]
    assert len({policies.fingerprint() for policies in kinds}) == len(kinds)
    again = make(names=["old", "new"], **count)
    assert again.fingerprint() == kinds[1].fingerprint()


def test_without_names_numbers_are_names():
    policies = ps.PolicyTable([[0, 1]], n_actions=2)
    assert policies.names is None
    assert policies.action_names is None
    assert policies.name_of(1) == "policy 1"
    with pytest.raises(ps.InvalidArgumentError, match="no names are known, got 'new'"):
        policies.number_of("new")
    with pytest.raises(ps.InvalidArgumentError, match="number must be a whole number in"):
        policies.name_of(2)


@pytest.mark.parametrize(
    "make",
    [
        lambda **given: ps.TabularPolicies(n_contexts=4, **given),
        lambda **given: ps.TreePolicies(ROWS, **given),
        lambda **given: ps.StumpPolicies(ROWS, **given),
        lambda **given: ps.OraclePolicies(DecisionTreeClassifier(), **given),
    ],
)
def test_classes_that_cannot_be_listed_take_named_actions(make):
    policies = make(actions=ACTIONS)
    assert policies.n_actions == 3
    assert policies.action_names == tuple(ACTIONS)
    assert policies.fingerprint() != make(n_actions=3).fingerprint()
    with pytest.raises(ps.InvalidArgumentError, match="each of the 4 actions, got 3 names"):
        make(n_actions=4, actions=ACTIONS)
    with pytest.raises(ps.InvalidArgumentError, match="got neither"):
        make()


def test_events_of_a_class_that_cannot_be_listed_may_have_names():
    policies = ps.TabularPolicies(n_contexts=2, actions=ACTIONS)
    best = policies.best([0, 1], ["hats", "bags"], [1.0, 2.0])
    assert best.actions([0, 1])[:, 0].tolist() == [1, 2]
    with pytest.raises(ps.InvalidArgumentError, match=r"actions \(row 1\).*got 'boots'"):
        policies.best([0, 1], ["hats", "boots"], [1.0, 2.0])


def test_policies_and_problem_must_name_actions_alike():
    policies = ps.PolicyTable([[0, 1]], actions=ACTIONS)
    asked = {"epsilon": 0.1, "delta": 0.1}
    for fitting in (ps.Problem(actions=ACTIONS, **asked), ps.Problem(n_actions=3, **asked)):
        policies.check_fits(fitting)
    ps.PolicyTable([[0, 1]], 3).check_fits(ps.Problem(actions=ACTIONS, **asked))
    with pytest.raises(ps.InvalidArgumentError, match="got 'shoes' and 'hats' for action 0"):
        policies.check_fits(ps.Problem(actions=["hats", "shoes", "bags"], **asked))


def test_a_table_may_hold_names():
    table = ps.PolicyTable([["hats", "shoes"], ["bags", "hats"]], actions=ACTIONS)
    assert table.table[:, :, 0].tolist() == [[1, 0], [2, 1]]
    assert table.table.dtype == np.uint8
    with pytest.raises(ps.InvalidArgumentError, match=r"table \(row 1\).*did you mean 'hats'"):
        ps.PolicyTable([["hats"], ["hat"]], actions=ACTIONS)
    with pytest.raises(ps.InvalidArgumentError, match=r"actions=\[\.\.\.\]"):
        ps.PolicyTable([["hats"]], n_actions=3)


def test_a_saved_table_gets_its_names_again(tmp_path):
    table = ps.PolicyTable([[0, 1], [1, 2]], names=["old", "new"], actions=ACTIONS)
    table.save(tmp_path / "table.npy")
    again = ps.PolicyTable.load(tmp_path / "table.npy", names=["old", "new"], actions=ACTIONS)
    assert again.fingerprint() == table.fingerprint()


def test_models_by_name_may_predict_names():
    labels = np.array(["hats", "shoes", "bags"])
    models = {
        "bayes": GaussianNB().fit(ROWS, labels),
        "tree": DecisionTreeClassifier().fit(ROWS, labels.astype(object)),
    }
    policies = ps.EstimatorPolicies(models, actions=ACTIONS)
    assert policies.names == ("bayes", "tree")
    assert policies.actions(ROWS)[:, :, 0].tolist() == [[1, 1], [0, 0], [2, 2]]
    slates = ps.EstimatorPolicies(models, actions=ACTIONS, slate_size=2).actions(ROWS)
    assert slates[:, 1, 0].tolist() == [1, 0, 2]
    with pytest.raises(ps.InvalidArgumentError) as caught:
        ps.EstimatorPolicies(models, n_actions=3)
    assert "EstimatorPolicies(..., actions=['bags', 'hats', 'shoes'])" in str(caught.value)
    with pytest.raises(ps.InvalidArgumentError, match="names must be left out"):
        ps.EstimatorPolicies(models, names=["bayes", "tree"], actions=ACTIONS)
    with pytest.raises(ps.InvalidArgumentError, match="the keys of models must be strings"):
        ps.EstimatorPolicies({0: models["tree"]}, actions=ACTIONS)


def test_a_label_that_is_no_action_is_told_with_its_policy_and_row():
    labels = ["shoes", "hats", "boots"]
    model = GaussianNB().fit(ROWS, labels)
    models = [SimpleNamespace(predict=model.predict)]  # which does not tell its classes
    policies = ps.EstimatorPolicies(models, names=["bayes"], actions=ACTIONS)
    with pytest.raises(ps.PolicyFailureError) as caught:
        policies.actions(ROWS)
    for words in ("policy 'bayes'", "row 2", "got 'boots'"):
        assert words in str(caught.value)
    assert (caught.value.policy, caught.value.name) == (0, "bayes")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.name) == (str(caught.value), "bayes")
    for size in (1, 2):
        with pytest.raises(ps.InvalidArgumentError, match=r"model 'bayes' .*got 'boots'"):
            ps.EstimatorPolicies([model], names=["bayes"], actions=ACTIONS, slate_size=size)


def test_a_model_that_can_only_score_shows_its_likeliest_class():
    by_name = Scorer(["bags", "hats"], [0.7, 0.3])
    by_number = Scorer([0, 2], [0.4, 0.6])
    policies = ps.EstimatorPolicies([by_name, by_number], actions=ACTIONS)
    assert policies.actions(ROWS[:1])[:, :, 0].tolist() == [[2, 2]]
    with pytest.raises(ps.InvalidArgumentError, match="must have predict, or be fitted and have"):
        ps.EstimatorPolicies({"nothing": object()}, n_actions=2)


@pytest.mark.parametrize("vectorized", [True, False])
def test_functions_by_name_may_return_names(vectorized):
    answer = always if vectorized else lambda action: lambda _row: action
    policies = ps.FunctionPolicies(
        {"brave": answer("bags"), "plain": answer(0)}, actions=ACTIONS, vectorized=vectorized
    )
    assert policies.actions(ROWS[:1])[0, :, 0].tolist() == [2, 0]
    lost = ps.FunctionPolicies({"brave": answer("boots")}, actions=ACTIONS, vectorized=vectorized)
    with pytest.raises(ps.PolicyFailureError, match=r"policy 'brave'.*row 0.*got 'boots'"):
        lost.actions(ROWS)
    unknown = ps.FunctionPolicies([answer("bags")], n_actions=3, vectorized=vectorized)
    with pytest.raises(
        ps.PolicyFailureError, match=r"policy 0 .*FunctionPolicies\(\.\.\., actions=\['bags'\]\)"
    ):
        unknown.actions(ROWS)


def test_whatever_a_policy_does_wrong_it_is_called_by_its_name():
    wrong = [lambda rows: 1 / 0, always(7), lambda rows: 0, lambda rows: rows / 3]
    for function in wrong:
        policies = ps.FunctionPolicies({"fine": always(0), "wrong": function}, n_actions=3)
        with pytest.raises(ps.PolicyFailureError, match=r"^policy 'wrong' "):
            policies.actions(np.arange(3))


def test_a_cover_keeps_the_names_of_its_representatives():
    rules = {"low": always("shoes"), "same": always("shoes"), "high": always("bags")}
    problem = ps.Problem(actions=ACTIONS, epsilon=0.5, delta=0.1)
    cover = ps.natarajan_cover(rules, np.zeros((200, 1)), problem)
    assert cover.names == ("low", "high")
    assert cover.action_names == tuple(ACTIONS)
    family = ps.natarajan_cover(Thresholds(1), np.arange(400.0) % 3, problem)
    assert family.action_names == tuple(ACTIONS)


def test_a_randomised_policy_names_its_largest_share():
    policies = ps.PolicyTable([[0, 1]], n_actions=2, names=["old", "new"])
    mixed = ps.policies.RandomizedPolicy(policies, [0.25, 0.75])
    assert "75.0% new" in repr(mixed)


@pytest.mark.parametrize("actions", [["1", "2", "3"], ["1", "0"]])
def test_numbers_are_refused_where_they_could_be_names_of_other_actions(actions):
    functions = ps.FunctionPolicies({"f": lambda x: [1] * len(x)}, actions=actions)
    with pytest.raises(ps.PolicyFailureError, match="returned numbers, but '1' is the name of"):
        functions.actions([0])
    named = ps.FunctionPolicies({"f": lambda x: ["1"] * len(x)}, actions=actions)
    assert named.actions([0]).item() == actions.index("1")


def test_numbers_stay_numbers_beside_names_that_are_none():
    rule = {"f": lambda x: [1] * len(x)}
    for actions in (["0", "1"], ["1001", "1002"], ["a", "b"]):
        assert ps.FunctionPolicies(rule, actions=actions).actions([0]).item() == 1


def test_a_number_in_a_table_of_names_is_refused():
    with pytest.raises(ps.InvalidArgumentError):
        ps.PolicyTable([["x", 0]], actions=["x", "0"])


def test_labels_of_a_model_that_are_no_actions_are_told_at_once():
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit([[0.0], [1.0]], [1, 3])
    with pytest.raises(ps.InvalidArgumentError, match=r"model 'm' has 3; fit it on names"):
        ps.EstimatorPolicies({"m": model}, n_actions=3)


def test_a_label_of_a_model_that_is_no_action_is_told_at_once():
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit([[0.0], [1.0]], ["hats", "shoes"])
    with pytest.raises(ps.InvalidArgumentError, match=r"model 'm' .*'hatz'.* got 'hats'; did you"):
        ps.EstimatorPolicies({"m": model}, actions=["hatz", "shoes"])
