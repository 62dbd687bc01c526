"""A webhook's receiver on this machine: what came in, byte for byte, and answers of your choice."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Where it listens: shaped like an incoming webhook's address, whose path is the secret.
SECRET_PATH = "/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"

Answer = tuple[int, str, dict[str, str]]


@dataclass
class WebhookReceiver:
    """`with WebhookReceiver() as hook:` takes POSTs at `hook.url`.

    `answers`: (status, body, headers), one for each POST, the last one for ever.
    """

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=lambda: [(200, "ok", {})])
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    @property
    def documents(self) -> list[Any]:
        """The bodies, read as JSON."""
        return [json.loads(body) for body in self.bodies]

    def __enter__(self) -> WebhookReceiver:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}{SECRET_PATH}"
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, text, headers = 404, "no_service", dict[str, str]()
                if self.path.partition("?")[0].rstrip("/") == SECRET_PATH:
                    hook.headers.append(dict(self.headers.items()))
                    hook.bodies.append(body)
                    status, text, headers = hook.answers.pop(0) if len(hook.answers) > 1 else hook.answers[0]
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text.encode()))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        return Handler
