from pathlib import Path

import numpy as np

from policysieve.bench.speed import first_use as module


def test_what_is_compiled_is_counted(monkeypatch):
    """Three functions when nothing was compiled, and two more for a memory-mapped table."""
    runs = []

    def run_code(code, *arguments, environment):
        runs.append((code, *arguments))
        if arguments:
            path, mapped = arguments
            assert np.load(path).shape == (40, 100, 1)
            folder = Path(environment["NUMBA_CACHE_DIR"])
            for number in range(5 if mapped == "True" else 3):
                folder.joinpath(f"kernel.{number}.nbc").touch()
            folder.joinpath("kernel.nbi").touch()

    monkeypatch.setattr(module, "run_code", run_code)
    result = module.first_use(n_contexts=40, repeats=2)
    assert (result["compiled"], result["compiled_for_mapped"]) == (3, 2)
    assert [run[-1] for run in runs] == [
        *3 * ["pass"],
        *3 * ["import policysieve"],
        *4 * ["False"],
        "True",
    ]


def test_the_code_that_is_run_looks_once(monkeypatch, tmp_path):
    """It asserts so itself; without a compiler, which takes seconds."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    path = tmp_path / "table.npy"
    module._table(30).save(path)
    for mapped in ("True", "False"):
        assert module.run_code(module._CODE, str(path), mapped) == ""
