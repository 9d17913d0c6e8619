"""What a service counts, for Prometheus: requests, rounds, seconds; nothing of what they said."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

__all__ = ["Metrics"]

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)


class Metrics:
    """Counters of one application, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "policysieve_requests",
            "Requests that were answered.",
            ("method", "door", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "policysieve_request_seconds",
            "Time from the head of a request to the head of its answer.",
            ("door",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._rounds = Counter(
            "policysieve_rounds",
            "Rounds that were decided, told, told again, or told too late.",
            ("study", "what"),
            registry=self._registry,
        )

    def answered(self, method: str, door: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, door, str(status)).inc()
        self._seconds.labels(door).observe(seconds)

    def rounds(self, study: str, what: str, n: int) -> None:
        """Count rounds."""
        if n:
            self._rounds.labels(study, what).inc(n)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
