"""Listens on unix sockets. Arguments: `silent` or `nonsense`, a file to make once it listens, paths.

`silent` accepts and never says a word; `nonsense` answers every connection with bytes that are no protocol, and goes on
for as long as somebody reads.
"""

import os
import select
import socket
import sys
import threading

manner, ready, paths = sys.argv[1], sys.argv[2], sys.argv[3:]


def babble(connection):
    try:
        while True:
            connection.sendall(os.urandom(4096))
    except OSError:
        connection.close()


listeners = []
for path in paths:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    listeners.append(listener)
open(ready, "w").close()
kept = []
while True:
    for listener in select.select(listeners, [], [])[0]:
        connection = listener.accept()[0]
        kept.append(connection)
        if manner == "nonsense":
            threading.Thread(target=babble, args=(connection,), daemon=True).start()
