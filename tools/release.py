"""Build the wheel and the sdist into a folder, and check each in an environment of its own.

Run it with `make release`. Each archive is installed into a fresh virtual environment with the
tested versions, away from the repository, and has to do there what a user does first: say its
version, import every public name, plan, and play a short demo. Nothing is uploaded.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DATA = (".css", ".js", ".html", ".json", ".pyi", "py.typed")  # that the package reads
ALONE = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml")
IMPORT = "import policysieve as ps; [getattr(ps, name) for name in ps.__all__ if name != 'scale']"
PLAN = ("--actions", "9", "--n-policies", "9", "--epsilon", "0.1")
DEMO = ("--seeds", "1", "--rounds", "400", "--classifiers", "20", "--folder", "made")


def main() -> None:
    """Build, and check what was built."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist")
    folder = parser.parse_args().folder.resolve()
    with tempfile.TemporaryDirectory(prefix="policysieve-release-") as place:
        for old in folder.glob(f"{PROJECT['name']}-*"):
            old.unlink()
        build(environment(Path(place) / "build"), folder)
        wheel, sdist = archives(folder)
        check_contents(wheel, sdist)
        for archive in (wheel, sdist):
            print(f"Checking {archive.name} in a clean environment ...", flush=True)
            check_installed(archive, Path(place) / archive.name)
    print(f"Ready in {folder}: {wheel.name}, {sdist.name}")


def environment(folder: Path) -> Path:
    """The Python of a new environment."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def build(python: Path, folder: Path) -> None:
    """Build both archives with the tested version of the build tool."""
    install(python, "hatchling")
    run([python, "-m", "hatchling", "build", "--directory", folder], ROOT)


def archives(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of the version that the project has."""
    stem = f"{PROJECT['name']}-{PROJECT['version']}"
    found = folder / f"{stem}-py3-none-any.whl", folder / f"{stem}.tar.gz"
    missing = [path.name for path in found if not path.is_file()]
    if missing:
        sys.exit(f"{' and '.join(missing)} should have been built into {folder}")
    return found


def check_contents(wheel: Path, sdist: Path) -> None:
    """All of the package is in both, with its data, and nothing else is in the wheel."""
    source = ROOT / "src" / "policysieve"
    files = [
        path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    wanted = {
        path.relative_to(ROOT / "src").as_posix()
        for path in files
        if path.suffix == ".py" or path.name.endswith(DATA)
    }
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    strange = {name for name in in_wheel if name.split("/")[0].split("-")[0] != PROJECT["name"]}
    with tarfile.open(sdist) as opened:
        in_sdist = {name.partition("/")[2] for name in opened.getnames()}
    lacking = wanted - in_wheel | ({f"src/{name}" for name in wanted} | set(ALONE)) - in_sdist
    if lacking or strange:
        sys.exit(f"not in an archive: {sorted(lacking)}; strange in the wheel: {sorted(strange)}")


def check_installed(archive: Path, place: Path) -> None:
    """Install an archive, and use it away from the repository."""
    python = environment(place / "venv")
    install(python, f"{archive}[sklearn,study,serve]")
    work = place / "work"
    work.mkdir()
    run([python, "-m", "pip", "check"], work)
    said = run([python, "-m", "policysieve", "--version"], work)
    if said.strip() != f"policysieve {PROJECT['version']}":
        sys.exit(f"{archive.name} says that it is {said.strip()}")
    run([python, "-W", "error", "-c", IMPORT], work)
    run([python, "-m", "policysieve", "plan", *PLAN], work)
    run([python, "-m", "policysieve", "demo", *DEMO], work)
    played = json.loads((work / "made" / "result.json").read_text(encoding="utf-8"))
    rounds = [one["seeds"][0]["rounds"] for one in played["learners"]]
    if not all(rounds) or not (work / "made" / "report.html").stat().st_size:
        sys.exit(f"the demo of {archive.name} played {rounds} rounds")


def install(python: Path, what: str) -> None:
    """Install with the tested versions; the variables also hold where pip builds."""
    tested = {"PIP_CONSTRAINT": str(CONSTRAINTS), "PIP_BUILD_CONSTRAINT": str(CONSTRAINTS)}
    run([python, "-m", "pip", "--disable-pip-version-check", "-q", "install", what], ROOT, tested)


def run(command: list[str | Path], folder: Path, more: dict[str, str] | None = None) -> str:
    """What a command prints; if it fails, that is the end."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**clean, **(more or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
