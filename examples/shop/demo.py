"""A service with a dashboard, and a shop whose visitors keep it busy, all on this machine.

Run it with `make serve-demo`, or `python examples/shop/demo.py`; Ctrl-C ends it. It runs the same
commands as you would, and keeps its database in a temporary folder unless told where.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from people import People
from traffic import Traffic

import policysieve as ps

HERE = Path(__file__).parent
POLICYSIEVE = [sys.executable, "-m", "policysieve"]
PROBLEM = ["--epsilon", "0.02", "--delta", "0.05", "--against", "gift cards for everyone"]
STUDY = ["homepage", "--policies", "shop:policies", *PROBLEM, "--deadline", "20s", "--if-missing"]


def main() -> None:
    """Start a service and send traffic, until it is stopped or the time is over."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="policysieve-shop-") as made:
        url = f"sqlite:///{(options.folder or Path(made)).resolve() / 'shop.db'}"
        subprocess.run(
            [*POLICYSIEVE, "study", "create", url, *STUDY],
            cwd=HERE,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        serve = ["serve", "--storage", url, "--policies", "shop:policies", "--quiet"]
        server = subprocess.Popen(
            [*POLICYSIEVE, *serve, "--port", str(options.port)],
            cwd=HERE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C is heard here, and not by both
        )
        try:
            address = f"http://127.0.0.1:{options.port}"
            _wait_until_ready(server, address)
            print(f"The shop is open. Look at its dashboard: {address}", flush=True)
            _send_traffic(address, options)
        except KeyboardInterrupt:
            print("Closing the shop.", flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()


def _send_traffic(address: str, options: argparse.Namespace) -> None:
    with ps.Client(address) as client:
        study = client.study("homepage")
        traffic = Traffic(study, People(options.seed, options.pace), options.rate)
        runs = threading.Thread(target=traffic.run, args=(options.seconds,))
        runs.start()
        try:
            said = time.monotonic()
            while runs.is_alive():
                runs.join(0.2)
                if time.monotonic() >= said + options.every:
                    said = time.monotonic()
                    _say(traffic)
        finally:
            traffic.stop()
            runs.join()
        _say(traffic)


def _say(traffic: Traffic) -> None:
    best = traffic.study.recommend()
    print(
        f"{traffic.visits:,} visits, {traffic.clicks:,} clicks, {traffic.late:,} late answers, "
        f"{traffic.failed:,} failures. Recommended: {best.policy_name}. {best.guarantee}",
        flush=True,
    )


def _wait_until_ready(server: "subprocess.Popen[bytes]", address: str) -> None:
    end = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("The service did not start.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    seconds = float(os.environ.get("DEMO_SECONDS") or "inf")
    parser.add_argument("--seconds", type=float, default=seconds, help="end after so long")
    parser.add_argument("--rate", type=float, default=15.0, help="visitors a second")
    parser.add_argument("--pace", type=float, default=1.0, help="how fast people answer")
    parser.add_argument("--port", type=int, help="of 127.0.0.1; by default 8000, if it is free")
    parser.add_argument("--folder", type=Path, help="where to keep the database")
    parser.add_argument("--seed", type=int, default=0, help="of the people")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between lines")
    options = parser.parse_args()
    options.port = options.port or _port(options.port)
    return options


def _port(wanted: int | None) -> int:
    """8000 unless another is wanted, or one that is free."""
    for port in (8000, 0) if wanted is None else (wanted,):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(taken.getsockname()[1])
    raise SystemExit("No port of 127.0.0.1 is free.")


if __name__ == "__main__":
    main()
