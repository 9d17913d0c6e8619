"""The image and the compose file: nothing in them that should not be, and their commands work."""

import fnmatch
import json
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml

import policysieve as ps
from tests.waiting import until

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
SHOP = ROOT / "examples" / "shop"  # what is mounted by default
VISITOR = {
    "weather": "rain",
    "last_order": "tents",
    "device": "phone",
    "basket": 12.5,
    "hour": 9,
    "newsletter": True,
}
OURS = [name for name in SERVICES if name != "db"]
services = pytest.mark.parametrize("name", SERVICES)


def instructions(word):
    """What follows a word in the lines of the Dockerfile, continued lines joined."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{word} +(.*)$", joined, flags=re.MULTILINE)


def test_the_linter_finds_nothing():
    linter = shutil.which("hadolint", path=Path(sys.executable).parent) or shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed here")
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


class TestImage:
    def test_it_is_not_root(self):
        last = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
        (user,) = re.findall(r"^USER (\d+):(\d+)$", last, flags=re.MULTILINE)
        assert min(map(int, user)) >= 10_000  # a number, so that an orchestrator can check it

    def test_what_is_copied_is_let_through(self):
        rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
        kept = [rule[1:] for rule in rules if rule.startswith("!")]
        assert "*" in rules
        copied = [line.split()[:-1] for line in instructions("COPY") if "--from" not in line]
        for source in (one for sources in copied for one in sources):
            assert (ROOT / source).exists()
            assert any(fnmatch.fnmatch(source, rule) for rule in kept), source

    def test_it_builds_what_the_project_declares(self):
        (install,) = (line for line in instructions("RUN") if "pip install" in line)
        assert '".[serve,sklearn]"' in install
        assert any("PIP_CONSTRAINT=/build/constraints.txt" in line for line in instructions("ENV"))

    def test_folders_that_are_written_to_can_be(self):
        """Those of the read-only root file system are a tmpfs or a volume in the compose file."""
        said = dict(re.findall(r"([A-Z_]+)=(/\S+)", instructions("ENV")[-1]))
        for name in ("HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"):
            for service in OURS:
                mounts = [one.split(":")[1] for one in SERVICES[service]["volumes"]]
                assert said[name] in [*SERVICES[service]["tmpfs"], *mounts]


class TestCompose:
    def test_one_database_two_deciders_one_learner(self):
        first = {name: SERVICES[name].get("command", [None])[:2] for name in SERVICES}
        assert first["decider-1"][0] == first["decider-2"][0] == "serve"
        assert "--no-learn" in SERVICES["decider-1"]["command"]
        assert first["learner"] == ["study", "learn"]
        assert SERVICES["db"]["image"].startswith("postgres:")

    @services
    def test_a_service_may_do_little(self, name):
        service = SERVICES[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert not service.keys() & {
            "privileged",
            "cap_add",
            "devices",
            "pid",
            "ipc",
            "network_mode",
        }
        assert service.get("user") != "root"

    @services
    def test_only_this_machine_reaches_a_port(self, name):
        assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))

    def test_no_secret_has_a_default(self):
        text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
        for name, rest in re.findall(r"\$\{(\w+)([^}]*)\}", text):
            assert "PASSWORD" not in name or rest.startswith(":?")
        for service in SERVICES.values():
            for name, value in service.get("environment", {}).items():
                assert "PASSWORD" not in name or value.startswith("${")
        assert re.findall(r"postgresql://[^@\s]*:[^@\s]*@", text) == []

    @services
    def test_its_health_is_known(self, name):
        checked = SERVICES[name].get("healthcheck", {})
        if name.startswith("decider"):
            assert checked == {}
            assert instructions("HEALTHCHECK")
        elif name == "db":
            assert checked["test"][:2] == ["CMD", "pg_isready"]
        else:
            assert checked == {"disable": True}

    @services
    def test_what_it_names_is_there(self, name):
        service = SERVICES[name]
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        for mount in service.get("volumes", []):
            source = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", mount).split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).is_dir()

    def test_the_database_is_not_reached_from_outside(self):
        assert COMPOSE["networks"]["inside"] == {"internal": True}
        assert SERVICES["db"]["networks"] == ["inside"]
        assert "ports" not in SERVICES["db"]


def command_of(name, database, *more):
    """What a container runs, on this machine: its database, on a loopback address, any port."""
    replaced = {"postgresql://policysieve@db/policysieve": database, "0.0.0.0": "127.0.0.1"}
    words = [replaced.get(word, word) for word in SERVICES[name]["command"]]
    return [sys.executable, "-m", "policysieve", *words, *more]


@contextmanager
def running(command):
    """A process, in the folder that is mounted, until it is no more needed."""
    process = subprocess.Popen(command, cwd=SHOP, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def said_by(process):
    """The next JSON object that a process prints, on one line or on several."""
    text = ""
    while line := process.stdout.readline():
        text += line
        try:
            return json.loads(text)
        except ValueError:
            continue
    raise AssertionError(f"it ended with {process.wait()}")


def is_healthy(address):
    """What the health check of the image finds."""
    (check,) = instructions("HEALTHCHECK")
    words = json.loads(check[check.index("[") :])
    assert words[0] == "python"
    asked = [word.replace("http://127.0.0.1:8000", address) for word in words[1:]]
    assert asked != words[1:]
    done = subprocess.run([sys.executable, *asked], capture_output=True)
    return done.returncode == 0


def test_the_same_commands_work_without_containers(database):
    """Both deciders are asked and told, one is killed, a learner is replaced: all goes on."""
    create = command_of("study", database)
    for _ in range(2):  # machines start more than once
        subprocess.run(create, cwd=SHOP, check=True, capture_output=True)
    token = subprocess.run(
        [sys.executable, "-m", "policysieve", "token", "create", "--storage", database]
        + ["--label", "test", "--scope", "decide", "--scope", "tell", "--scope", "read"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    serve = ("--port", "0", "--json", "--quiet")
    with (
        running(command_of("decider-1", database, *serve)) as first,
        running(command_of("decider-2", database, *serve)) as second,
        running(command_of("learner", database, "--every", "0.2s", "--json")) as learner,
    ):
        addresses = [said_by(process)["url"] for process in (first, second)]
        with pytest.raises(ps.AccessError, match="token"):
            ps.Client(addresses[0]).study("homepage").ask([VISITOR])
        one, two = (ps.Client(address, token).study("homepage") for address in addresses)
        for asker, teller in ((one, two), (two, one)):
            asked = asker.ask([VISITOR] * 20)
            assert teller.tell(asked, np.ones(20)).counted == 20
        assert said_by(learner)["learnt"] > 0
        assert all(map(is_healthy, addresses))
        waiting = one.ask([VISITOR] * 5)
        first.kill()
        first.wait()
        assert not is_healthy(addresses[0])
        assert two.tell(waiting, np.zeros(5)).counted == 5
        learner.send_signal(signal.SIGINT)
        learner.wait(60)
        with running(command_of("learner", database, "--every", "0.2s", "--json")) as another:
            asked = two.ask([VISITOR] * 20)
            two.tell(asked, np.ones(20))
            assert said_by(another)["learnt"] > 0
            until(lambda: two.status()["learnt"] == 65)
        second.send_signal(signal.SIGTERM)
        assert second.wait(60) == 0
