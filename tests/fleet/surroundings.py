"""What faults.py puts around a daemon: name servers, certificates, a clock."""

import datetime
import os
import socket
import ssl
import subprocess
import threading
from pathlib import Path

# Of this machine, and no other program's.
NAME_SERVERS = ("127.18.15.53", "127.18.15.54", "127.18.15.55")


class NameServers:
    """Take questions and never answer."""

    def __init__(self):
        self.asked, self.sockets = 0, []
        for address in NAME_SERVERS:
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.bind((address, 53))
            self.sockets.append(one)
            threading.Thread(target=self.swallow, args=(one,), daemon=True).start()

    def swallow(self, one):
        try:
            while one.recv(512):
                self.asked += 1
        except OSError:
            pass

    def stop(self):
        for one in self.sockets:
            # Ends the waiting `recv` as well.
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()


def certificate(work, name, days):
    """Makes a certificate that is valid for so many days from now on; it is over if that is negative."""
    path, begin = work / f"{name}.pem", datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=10)
    end = begin + datetime.timedelta(days=10 + days)
    authority = work / f"{name}-ca"
    settings = work / f"{name}.cnf"
    settings.write_text("[ca]\ndefault_ca=own\n[own]\ndatabase=$ENV::INDEX\nnew_certs_dir=$ENV::FOLDER\nrand_serial=yes\n"
                        "default_md=sha256\npolicy=any\nx509_extensions=facts\nunique_subject=no\n[any]\ncommonName=supplied\n"
                        "[facts]\nsubjectAltName=IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n"
                        "[req]\ndistinguished_name=name\nprompt=no\n[name]\nCN=receiver\n")
    authority.mkdir()
    (authority / "index").write_text("")
    environment = {**os.environ, "INDEX": str(authority / "index"), "FOLDER": str(authority)}

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, env=environment)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}-ca",
            "-keyout", authority / "ca.key", "-out", authority / "ca.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-config", settings, "-keyout", authority / "key.pem",
            "-out", authority / "request.pem")
    openssl("ca", "-batch", "-config", settings, "-cert", authority / "ca.pem", "-keyfile", authority / "ca.key", "-notext",
            "-startdate", begin.strftime("%Y%m%d%H%M%SZ"), "-enddate", end.strftime("%Y%m%d%H%M%SZ"),
            "-in", authority / "request.pem", "-out", path)
    return path, authority / "key.pem", authority / "ca.pem"


def with_tls(receiver, chain, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    receiver.socket = context.wrap_socket(receiver.socket, server_side=True)
    return context


def library_of_clocks():
    """Returns Debian's library that shows another time to a program, if it can be had."""
    folders = [Path(entry).parent for entry in os.environ["PATH"].split(":") if entry] + [Path("/usr")]
    found = [path for folder in folders for path in folder.glob("lib/*/faketime/libfaketimeMT.so.1")]
    return found[0] if found else None
