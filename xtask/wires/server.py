"""A strict provider on loopback, in every dialect: it refuses what the judge refuses, in the words of the service that it
plays, and else says what the script says. It ends when its stdin does.

It plays the service that the first part of a request's path names, and the second part says what is tried: requests to
`http://127.0.0.1:PORT/SERVICE/TRIED/...`. The first line of stdout is the port; then one line for every request that was
judged: what it was, and each reason to refuse it. With BONDED_WIRES_GO_ON set it says those, and answers all the same.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import judge
import replies

GO_ON = "BONDED_WIRES_GO_ON" in os.environ
ROUTES = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
SAYING = threading.Lock()


def say(value):
    with SAYING:
        print(value, flush=True)


def route_of(rest):
    """The dialect of an address, the model that stands in it, and whether a stream is asked for by it."""
    for end, dialect in ROUTES.items():
        if rest in (f"/v1{end}", f"/openai/v1{end}"):
            return dialect, None, False
    name, _, verb = rest.removeprefix("/v1beta/models/").partition(":")
    if rest.startswith("/v1beta/models/") and verb in ("generateContent", "streamGenerateContent"):
        return "gemini", unquote(name), verb.startswith("stream")
    return None, None, False


def error(service, dialect, verdict):
    """A refusal in the shape that a service has for it."""
    words = verdict.words
    if dialect == "messages":
        return {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    if dialect == "gemini":
        return {"error": {"code": verdict.status, "message": words, "status": "INVALID_ARGUMENT"}}
    if service == "mistral":
        return {"object": "error", "message": words, "type": "invalid_request_error", "param": None, "code": None}
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}


def unannounced(body, headers):
    """What must be named in a header before it may be said."""
    is_said = "block_binding" in (body.get("thinking") or {})
    is_named = "thinking-binding-controls-2026-08-01" in headers.get("anthropic-beta", "")
    if not is_said or is_named:
        return []
    return [judge.Verdict("thinking.adaptive.block_binding: Extra inputs are not permitted")]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = urlsplit(self.path).path
        _, service, tried, rest = path.split("/", 3)
        dialect, model, is_stream = route_of(f"/{rest}")
        model = model or body.get("model", "")
        found = [judge.Verdict(f"there is no route /{rest}", 404)]
        if dialect:
            found = judge.judge(service, dialect, model, body)
            found += unannounced(body, self.headers)
        refused = [{"words": verdict.words, "advice": verdict.is_advice} for verdict in found]
        say(json.dumps({"service": service, "tried": tried, "model": model, "dialect": dialect, "refused": refused}))
        fatal = next((verdict for verdict in found if not verdict.is_advice), None)
        if fatal and not (GO_ON and dialect):
            return self.answer(fatal.status, "application/json", json.dumps(error(service, dialect, fatal)))
        whole = replies.reply(dialect, service, model, body)
        if is_stream or body.get("stream"):
            return self.answer(200, "text/event-stream", replies.events(dialect, whole))
        return self.answer(200, "application/json", json.dumps(whole))

    def answer(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(server.server_port)
    sys.stdin.read()


if __name__ == "__main__":
    main()
