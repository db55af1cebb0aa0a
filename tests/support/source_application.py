"""An application under test that copies a file, or what is posted to it, to a topic. With `careful` it
answers or notes its position when the output is safe; with `forgetful` before, and it starts again at the
file's end.

Arguments: file or http, careful or forgetful, bootstrap, output, input (path or URL), state folder.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from confluent_kafka import Producer


def tail(producer: Producer, output: str, path: Path, position: Path, careful: bool) -> None:
    """Send each whole line, in JSON; note the position after each batch if `careful`."""
    with path.open("rb") as file:
        known = int(position.read_text()) if position.exists() else 0
        file.seek(known if careful else path.stat().st_size)
        while True:
            at = file.tell()
            line = file.readline()
            if line.endswith(b"\n"):
                producer.produce(output, json.dumps({"log": line.decode().rstrip("\n")}).encode())
                continue
            file.seek(at)  # It is still being written.
            if careful and producer.flush(60) == 0:
                scratch = position.with_suffix(".tmp")
                scratch.write_text(str(at))
                scratch.replace(position)
            producer.poll(0.05)


def serve(producer: Producer, output: str, url: str, careful: bool) -> None:
    """Send the body of each request. If not `careful`, a thread sends it a second later."""
    later: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            safe = True
            if careful:
                producer.produce(output, body)
                safe = producer.flush(60) == 0
            else:
                later.append(body)
            self.send_response(204 if safe else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    def send_later() -> None:
        while True:
            time.sleep(1)
            while later:
                producer.produce(output, later.pop(0))
            producer.flush(60)

    threading.Thread(target=send_later, daemon=True).start()
    HTTPServer(("", urlsplit(url).port or 80), Handler).serve_forever()


def main(kind: str, style: str, bootstrap: str, output: str, source: str, state: str) -> None:
    """Run until it is killed."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 2})
    if kind == "file":
        tail(producer, output, Path(source), Path(state) / "position", style == "careful")
    serve(producer, output, source, style == "careful")


if __name__ == "__main__":
    main(*sys.argv[1:7])
