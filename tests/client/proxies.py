"""A proxy that loses answers after the service has given them."""

import http.client
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP = ("connection", "transfer-encoding", "content-length", "server", "date")


@contextmanager
def losing(url, fates):
    """The address of a proxy, whose answers meet these fates in turn, and then none.

    "lost": the connection is closed when the service has answered. "half": after the first bytes
    of the answer. "refused": nothing reaches the service. "passed": nothing happens.
    """
    left, lock = list(fates), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            with lock:
                fate = left.pop(0) if left else "passed"
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if fate == "refused":
                self.close_connection = True
                return
            status, headers, answer = forwarded(url, self.command, self.path, self.headers, body)
            if fate == "lost":
                self.close_connection = True
                return
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if fate == "half":
                self.wfile.write(answer[: len(answer) // 2])
                self.close_connection = True
                return
            self.wfile.write(answer)

        def do_GET(self):
            self.do_POST()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", left
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def forwarded(url, method, path, headers, body):
    """The whole answer of the service: it has committed what it answers."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    passed = {name: value for name, value in headers.items() if name.lower() != "connection"}
    passed["Host"] = parts.netloc
    connection.request(method, path, body, passed)
    answer = connection.getresponse()
    try:
        return answer.status, answer.getheaders(), answer.read()
    finally:
        connection.close()
