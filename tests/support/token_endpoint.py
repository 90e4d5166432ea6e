"""An endpoint that gives tokens, or says why it does not."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.support.http_answers import Answers, serving


@contextmanager
def endpoint(answers: Sequence[tuple[int, object]]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """An endpoint that gives these, one after the other and the last one for ever, and what it was asked."""
    asked: list[tuple[str, str]] = []

    class Answer(Answers):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            status, document = answers[min(len(asked), len(answers) - 1)]
            asked.append((self.headers["authorization"], body))
            data = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.send_header("location", "/elsewhere")
            self.end_headers()
            self.wfile.write(data)

    with serving(Answer) as address:
        yield f"http://{address}/token", asked
