"""Checks the signatures (AWS Signature Version 4) of requests to an S3 server, and passes those on that are right.

moto, the server behind it, checks none that its own client would send.
"""

import hashlib
import hmac
import http.client
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlsplit

ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def problem(method, target, headers, body, key, secret):
    """Returns why a request is refused, `None` if it is signed with this key."""
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
        headers.get("authorization", ""))
    if not found or found[1] != key:
        return "InvalidAccessKeyId"
    _, day, region, signed, signature = found.groups()
    sent = headers.get("x-amz-content-sha256", "")
    if sent != hashlib.sha256(body).hexdigest() or not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed.split(";")):
        return "XAmzContentSHA256Mismatch"
    url = urlsplit(target)
    encoded = lambda text: quote(text, safe="-_.~")
    query = "&".join(f"{encoded(name)}={encoded(value)}" for name, value in sorted(parse_qsl(url.query, keep_blank_values=True)))
    lines = "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in signed.split(";"))
    canonical = "\n".join([method, url.path, query, lines, signed, sent])
    scope = f"{day}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    made = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        made = digest(made, part)
    expected = digest(made, text).hex()
    return None if hmac.compare_digest(signature, expected) else "SignatureDoesNotMatch"


class Gate:
    """Listens on a port of its own, and passes requests on to the server behind it."""

    def __init__(self, behind, key, secret, port=0):
        self.is_stopped = False
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if gate.is_stopped:
                    # A connection that was open before.
                    self.close_connection = True
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                why = problem(self.command, self.path, headers, body, key, secret)
                if why:
                    answer, status, kind = ERROR.format(code=why).encode(), 403, "application/xml"
                    entity = None
                else:
                    kept = {name: value for name, value in headers.items() if name not in ("connection", "host")}
                    server = http.client.HTTPConnection("127.0.0.1", behind, timeout=30)
                    server.request(self.command, self.path, body, {**kept, "host": f"127.0.0.1:{behind}"})
                    got = server.getresponse()
                    answer, status, kind, entity = got.read(), got.status, got.getheader("content-type"), got.headers
                    server.close()
                self.send_response(status)
                self.send_header("content-type", kind or "application/xml")
                for name in ("etag", "last-modified"):
                    if entity and entity.get(name):
                        self.send_header(name, entity[name])
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = pass_on

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.is_stopped = True
        self.server.shutdown()
        self.server.server_close()
