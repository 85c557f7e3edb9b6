"""Stands in for `blastdoor worker`: takes its options, answers /ready, dies when told to.

`GET /die/N` ends it with exit code N. With `--deaf` it ignores SIGTERM, with `--unready` it never is ready.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/die/"):
            print("the last words", flush=True)
            os._exit(int(self.path.rpartition("/")[2]))
        self.send_response(503 if "--unready" in sys.argv else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def main() -> None:
    options = argparse.ArgumentParser()
    for name in ("kafka", "redis", "http", "prefix", "clock"):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--policy")
    options.add_argument("--deaf", action="store_true")
    options.add_argument("--unready", action="store_true")
    found = options.parse_args()
    if found.policy == "bad.yaml":
        print("line 3: thresholds must be numbers", flush=True)
        sys.exit(2)
    if found.policy == "broken.yaml":
        sys.exit(3)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if found.deaf else lambda *_: os._exit(0))
    host, _, port = found.http.rpartition(":")
    HTTPServer((host, int(port)), Answers).serve_forever()


if __name__ == "__main__":
    main()
