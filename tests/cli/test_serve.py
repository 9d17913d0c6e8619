"""`policysieve serve` and `policysieve token`; the service itself is tried in tests/service."""

import json

import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from policysieve.service import serving
from tests.study.cases import PROBLEM, linear


@pytest.fixture
def url(tmp_path):
    found = f"sqlite:///{tmp_path / 'shop.db'}"
    ps.Study.create(found, "shop", linear(), PROBLEM, seed=0).close()
    return found


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def create(url, *more):
    return run("token", "create", "--storage", url, "--label", "web", *more)


def test_tokens_are_made_listed_and_revoked(url):
    made = create(url, "--scope", "tell", "--scope", "decide", "--study", "shop", "--expires", "1d")
    assert made.exit_code == 0
    text = made.stdout.strip()
    key = text.split("_")[1]
    assert key in made.stderr
    shown = run("token", "list", "--storage", url)
    assert all(word in shown.stdout for word in (key, "web", "decide, tell", "shop", "until"))
    (listed,) = json.loads(run("token", "list", "--storage", url, "--json").stdout)
    assert listed["scopes"] == ["decide", "tell"]
    assert listed["expires"] - listed["created"] == 86400
    assert text not in json.dumps(listed)
    assert "revoked" in run("token", "revoke", "--storage", url, key).stdout
    again = json.loads(run("token", "revoke", "--storage", url, key, "--json").stdout)
    assert again["revoked"] is not None
    assert "revoked" in run("token", "list", "--storage", url).stdout


def test_a_token_as_json_is_shown_once(url):
    made = json.loads(create(url, "--scope", "admin", "--json").stdout)
    assert made["token"].startswith(f"ps_{made['key']}_")
    assert made["studies"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scope", "write"), "write"),
        ((), "--scope"),
        (("--scope", "read", "--expires", "soon"), "--expires must be a duration"),
    ],
)
def test_tokens_that_cannot_be(url, arguments, said):
    made = create(url, *arguments)
    assert made.exit_code
    assert said in made.stderr


def test_no_token_of_this_key(url):
    assert "no token" in run("token", "revoke", "--storage", url, "abc").stderr


@pytest.fixture
def started(monkeypatch):
    """What a server was started with, which does not run."""
    found = {}

    def serve(hosted, settings, **options):
        found.update(hosted=hosted, settings=settings, **options)
        options["started"]("http://127.0.0.1:1")
        hosted.close()

    monkeypatch.setattr(serving, "serve", serve)
    return found


def test_what_is_served_is_said(url, started):
    ps.Study.create(url, "other", linear(5), PROBLEM, seed=0).close()
    ps.Study.create(url, "nobody", linear(), PROBLEM, seed=0).close()
    both = [f"--policies={name}=tests.study.cases:linear" for name in ("shop", "other")]
    done = run("serve", "--storage", url, *both, "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["url"] == "http://127.0.0.1:1"
    assert found["studies"]["shop"] is None
    assert "n_policies is 12, not 5" in found["studies"]["other"]
    assert "--policies nobody=" in found["studies"]["nobody"]
    words = run("serve", "--storage", url, "--policies", "tests.study.cases:linear", "--quiet")
    assert "shop: served" in words.stdout
    assert "http://127.0.0.1:1" in words.stdout


def test_options_reach_the_server(url, started):
    done = run(
        "serve", "--storage", url, "--policies", "tests.study.cases:linear", "--host", "::1",
        "--port", "81", "--host-name", "Shop.example", "--origin", "https://a.example",
        "--proxy", "10.0.0.1", "--max-body", "10", "--max-batch", "5", "--max-seconds", "2.5",
        "--require-tokens", "--quiet",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    settings = started["settings"]
    assert (settings.host, settings.port, settings.host_names) == ("::1", 81, ("shop.example",))
    assert (settings.body_bytes, settings.batch, settings.request_seconds) == (10, 5, 2.5)
    assert settings.require_tokens
    assert settings.origins == ("https://a.example",)
    assert started["proxies"] == ("10.0.0.1",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policies", "a:b", "--policies", "c:d"), "twice for all studies"),
        (("--policies", "x=a:b", "--policies", "x=c:d"), "twice for x"),
        (("--policies", "a:b", "--key", __file__), "go together"),
        (("--policies", "tests.study.cases:linear", "--host", "0.0.0.0"), "token create"),
    ],
)
def test_what_cannot_be_served(url, arguments, said):
    done = run("serve", "--storage", url, *arguments, "--quiet", "--port", "0")
    assert done.exit_code
    assert said in done.stderr


def test_there_is_no_such_database(tmp_path):
    done = run("serve", "--storage", f"sqlite:///{tmp_path / 'no.db'}", "--policies", "a:b")
    assert "no studies at" in done.stderr
