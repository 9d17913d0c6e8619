"""Every class that one can import is tested by the contract of its room."""

import inspect
import pkgutil
from importlib import import_module

import pytest

import tests.policies
import tests.worlds
from policysieve import policies, worlds
from policysieve.policies import ImplicitPolicies, Policies, PolicyTable
from policysieve.worlds import World
from tests.contracts.implicit_contract import ExactContract, ImplicitContract
from tests.contracts.policies_contract import PoliciesContract
from tests.contracts.world_contract import WorldContract

ROOMS = {
    "listed": (policies, Policies, tests.policies, PoliciesContract),
    "not listed": (policies, ImplicitPolicies, tests.policies, ImplicitContract),
    "worlds": (worlds, World, tests.worlds, WorldContract),
}


def public(room, base):
    """Classes of a room that can be made and are of a kind."""
    found = (getattr(room, name) for name in room.__all__)
    kind = {one for one in found if inspect.isclass(one) and issubclass(one, base)}
    return {one for one in kind if not inspect.isabstract(one)}


def under(folder, contract):
    """The classes that tests in a folder hold to a contract."""
    modules = [
        import_module(f"{folder.__name__}.{module.name}")
        for module in pkgutil.iter_modules(folder.__path__)
    ]
    return {
        getattr(test, "kind", None) or type(test.policies)
        for module in modules
        for name, test in vars(module).items()
        if name.startswith("Test") and issubclass(test, contract)
    }


def untested(room, base, folder, contract):
    return {one.__name__ for one in public(room, base) - under(folder, contract)}


@pytest.mark.parametrize("name", ROOMS)
def test_every_public_class_keeps_its_contract(name):
    assert public(*ROOMS[name][:2])
    assert untested(*ROOMS[name]) == set()


def test_exact_classes_are_compared_with_their_list():
    exact = {one for one in public(policies, ImplicitPolicies) if one.exact}
    assert exact == under(tests.policies, ExactContract)


def test_a_class_without_tests_would_be_found(monkeypatch):
    monkeypatch.setattr(policies, "New", type("New", (PolicyTable,), {}), raising=False)
    monkeypatch.setattr(policies, "__all__", [*policies.__all__, "New"])
    assert untested(*ROOMS["listed"]) == {"New"}
