"""Follows the nodes of an API server, and remembers when each condition changed."""

import collections
import json
import ssl
import threading
import time
import urllib.request

from cluster import ADMIN


class Watch(threading.Thread):
    """A watch of all nodes, by which a client of Kubernetes sees a change at once."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        request = urllib.request.Request(f"{cluster.url}/api/v1/nodes?watch=1&timeoutSeconds=7200")
        request.add_header("Authorization", f"Bearer {ADMIN}")
        context = ssl.create_default_context(cafile=str(cluster.ca))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        self.answer = opener.open(request, timeout=7200)
        # By node and condition: the status and since when, as it came here.
        self.shown = collections.defaultdict(dict)
        self.writes = []
        self.start()

    def run(self):
        for line in self.answer:
            now, event = time.time(), json.loads(line)
            node = event["object"]
            if event["type"] not in ("ADDED", "MODIFIED"):
                continue
            if event["type"] == "MODIFIED":
                self.writes.append(now)
            shown = self.shown[node["metadata"]["name"]]
            for condition in node["status"].get("conditions", []):
                kind, status = condition["type"], condition["status"]
                if shown.get(kind, ("",))[0] != status:
                    shown[kind] = (status, now)

    def since(self, node, condition, status):
        """Returns when a condition got this status, if it has it."""
        found = self.shown[node].get(condition)
        return found[1] if found and found[0] == status else None

    def busiest_second(self, begin, end):
        """Returns the most changes of nodes that came within one second of a span."""
        times = [moment for moment in list(self.writes) if begin <= moment < end]
        most, first = 0, 0
        for last, moment in enumerate(times):
            while times[first] <= moment - 1:
                first += 1
            most = max(most, last - first + 1)
        return most
