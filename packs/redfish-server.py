#!/usr/bin/env python3
"""A Redfish service for tests: redfish-server.py TREE CERTIFICATE KEY PORT_FILE.

Serves the documents of a tree over TLS, to the user gpud with the password secret; everything else is refused.
"""
import base64
import http.server
import json
import ssl
import sys

tree = json.load(open(sys.argv[1]))
basic = "Basic " + base64.b64encode(b"gpud:secret").decode()


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        document = tree.get(path) or tree.get(path + "/") or tree.get(path.rstrip("/"))
        if path == "/redfish":
            document = {"v1": "/redfish/v1/"}
        is_root = path.rstrip("/") in ("/redfish", "/redfish/v1")
        status = 200 if document else 404
        if not is_root and self.headers.get("Authorization") != basic:
            status, document = 401, None
        body = json.dumps(document or {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(sys.argv[4], "w") as file:
    file.write(str(server.server_address[1]))
server.serve_forever()
