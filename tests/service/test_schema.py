"""The document of the API is true, whatever comes in; nothing that comes in makes it fail."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import sampled_from
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.serving import ask, create, serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A service with a study that has open and settled rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")
        with serving(create(tmp_path_factory.mktemp("schema"), rounds=2)) as client:
            ask(client, 2, ids=["a", "b"])
            yield client


@pytest.fixture(scope="module")
def document(running):
    return schemathesis.openapi.from_url(f"{running.base_url}/openapi.json")


def test_whatever_comes_in(document, subtests):
    tried = 0
    for found in document.get_all_operations():
        operation = found.ok()
        with subtests.test(operation.label):
            try_out(operation)
            tried += 1
    assert tried == 15


def try_out(operation):
    @settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
        sampled_from(["shop", "shop", "missing", None]),
    )
    def whatever(case, study):
        if "name" in case.path_parameters and study is not None:
            archive = case.operation.path.endswith("archive")  # it would end it for all others
            case.path_parameters["name"] = "missing" if archive else study
        case.call_and_validate(checks=CHECKS)

    whatever()


DOORS = "ask tell recommendation status rounds exploration decisions open archive expire discard"


def test_every_door_but_pages_is_in_the_document(running):
    paths = running.get("/openapi.json").json()["paths"]
    expected = {f"/v1/studies/{{name}}/{door}" for door in DOORS.split()}
    assert expected | {"/v1/studies", "/healthz", "/readyz", "/metrics"} <= set(paths)
    bodies = paths["/v1/studies/{name}/ask"]["post"]["requestBody"]["content"]
    assert bodies["application/json"]["example"]["ids"] == ["order 17"]


def test_the_document_says_where_a_token_is_needed(running):
    document = running.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    paths = document["paths"]
    doors = [(path, door) for path, methods in paths.items() for door in methods.values()]
    open_doors = {path for path, door in doors if "security" not in door}
    assert open_doors == {"/healthz", "/readyz"}


def test_examples_of_the_document_are_understood(running):
    paths = running.get("/openapi.json").json()["paths"]
    for door in ("ask", "tell", "discard", "expire"):
        path = f"/v1/studies/{{name}}/{door}"
        body = paths[path]["post"]["requestBody"]["content"]["application/json"]["example"]
        found = running.post(path.replace("{name}", "shop"), json=body)
        assert found.status_code in (200, 404), found.text
