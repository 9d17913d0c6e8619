import pickle

import pytest

import policysieve as ps
from policysieve import errors


@pytest.mark.parametrize("name", errors.__all__)
def test_one_tree(name):
    assert issubclass(getattr(errors, name), ps.PolicySieveError)
    assert getattr(ps, name) is getattr(errors, name)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InvalidArgumentError("x"), ValueError),
        (errors.DecisionsError("x"), ValueError),
        (errors.FileFormatError("x"), ValueError),
        (errors.InUseError("x"), BlockingIOError),
        (errors.DatasetUnavailableError("x"), OSError),
        (errors.NotFoundError("x"), LookupError),
        (errors.ArchivedError("x"), ValueError),
        (errors.UnknownIdsError("x"), LookupError),
        (errors.UnknownIdsError("x"), ValueError),
        (errors.UnknownValueError("x"), LookupError),
        (errors.PolicyFailureError(3, "raised"), RuntimeError),
        (errors.MissingExtraError("demo", "scikit-learn", "sklearn"), ImportError),
    ],
)
def test_fits_a_builtin(error, builtin):
    assert isinstance(error, builtin)


def test_a_failing_policy_survives_a_process_border():
    copy = pickle.loads(pickle.dumps(errors.PolicyFailureError(3, "raised")))
    assert (copy.policy, str(copy)) == (3, "policy 3 raised")


def test_missing_extra_says_what_to_install():
    assert 'pip install "policysieve[exact]"' in str(errors.MissingExtraError("a", "b", "exact"))
