"""A receiver of webhooks that checks signatures as docs/exports.md has it, and that can stop answering."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time


def is_from_gpud(key, headers, body):
    """Returns whether a request is signed with this key; the same function as in docs/exports.md."""
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, one) for one in headers["webhook-signature"].split())


class SignedReceiver(http.server.ThreadingHTTPServer):
    """Takes signed requests. While it is silent it reads a request whole and never answers, as a hung program does."""

    daemon_threads = True

    def __init__(self, key, port=0):
        # Seconds that the sender's clock may be wrong.
        self.tolerance = 300
        # What was answered: when it came, and the record. What was read and not answered: ids.
        self.records, self.unanswered, self.refused = [], [], 0
        self.speaks = threading.Event()
        self.speaks.set()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                now = time.time()
                is_right = is_from_gpud(key, self.headers, body)
                is_right = is_right and abs(now - int(self.headers["webhook-timestamp"])) < receiver.tolerance
                if not receiver.speaks.is_set():
                    receiver.unanswered += [one["id"] for one in json.loads(body)] if is_right else []
                    receiver.speaks.wait()
                    self.close_connection = True
                    return
                if is_right:
                    receiver.records += [(now, one) for one in json.loads(body)]
                else:
                    receiver.refused += 1
                self.send_response(200 if is_right else 401)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server_port}"

    def stop(self):
        self.speaks.set()
        self.shutdown()
        self.server_close()

    def ids(self):
        """Returns how often each id came and was answered."""
        count = {}
        for _, record in list(self.records):
            count[record["id"]] = count.get(record["id"], 0) + 1
        return count
