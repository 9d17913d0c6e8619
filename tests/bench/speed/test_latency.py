from policysieve.bench.speed.latency import _milliseconds, latency


def test_every_way_to_call():
    result = latency(n_policies=20, rounds=80, threads=(1, 4))
    ways = [(case["kind"], case["competing"], case["threads"]) for case in result["cases"]]
    assert ways == [
        (kind, competing, threads)
        for kind in ("clusters", "close")
        for competing in (False, True)
        for threads in (1, 4)
    ]
    for case in result["cases"]:
        for call in (case["ask"], case["tell"]):
            assert 0 < call["p50"] <= call["p99"] <= call["max"]


def test_percentiles_of_all_threads_together():
    found = _milliseconds([[0.001] * 60, [0.003] * 39, [0.1]])
    assert (found["p50"], found["max"]) == (1.0, 100.0)
    assert 3.0 <= found["p99"] < 100.0
