#!/usr/bin/env python3
"""Brings an image in the layout of OCI into a registry, and back out of it into a folder.

  registry.py push LAYOUT.tar http://HOST/REPOSITORY TAG
  registry.py pull http://HOST/REPOSITORY TAG FOLDER     unpacks the layers and prints the configuration

Every blob is compared with its digest and its size.
"""

import hashlib
import io
import json
import os
import sys
import tarfile
import urllib.parse
import urllib.request

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def request(method, url, body=None, **headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return urllib.request.urlopen(urllib.request.Request(url, body, names, method=method), timeout=60)


def checked(descriptor, content):
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    if (digest, len(content)) != (descriptor["digest"], descriptor["size"]):
        sys.exit(f"{descriptor} has {len(content)} bytes with {digest}")
    return content


def parts(repository):
    address = urllib.parse.urlsplit(repository)
    return f"{address.scheme}://{address.netloc}/v2{address.path}"


def push(layout, repository, tag):
    base = parts(repository)
    with tarfile.open(layout) as archive:
        def read(name):
            return archive.extractfile(name).read()

        def blob(descriptor):
            return checked(descriptor, read("blobs/" + descriptor["digest"].replace(":", "/")))

        if json.loads(read("oci-layout")) != {"imageLayoutVersion": "1.0.0"}:
            sys.exit("oci-layout is not version 1.0.0")
        (listed,) = json.loads(read("index.json"))["manifests"]
        manifest = blob(listed)
        content = json.loads(manifest)
        for descriptor in [content["config"], *content["layers"]]:
            where = request("POST", f"{base}/blobs/uploads/").headers["Location"]
            where = urllib.parse.urljoin(base + "/", where)
            where += ("&" if "?" in where else "?") + urllib.parse.urlencode({"digest": descriptor["digest"]})
            request("PUT", where, blob(descriptor), Content_Type="application/octet-stream")
        request("PUT", f"{base}/manifests/{tag}", manifest, Content_Type=MANIFEST)


def pull(repository, tag, folder):
    base = parts(repository)
    manifest = json.load(request("GET", f"{base}/manifests/{tag}", Accept=MANIFEST))

    def blob(descriptor):
        return checked(descriptor, request("GET", f"{base}/blobs/{descriptor['digest']}").read())

    config = json.loads(blob(manifest["config"]))
    os.mkdir(folder)
    for descriptor, plain in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        with tarfile.open(fileobj=io.BytesIO(blob(descriptor)), mode="r:gz") as layer:
            # Owners and modes as they are: the layers are our own.
            if hasattr(tarfile, "fully_trusted_filter"):
                layer.extraction_filter = staticmethod(tarfile.fully_trusted_filter)
            layer.extractall(folder, numeric_owner=True)
            layer.fileobj.seek(0)
            digest = "sha256:" + hashlib.sha256(layer.fileobj.read()).hexdigest()
        if digest != plain:
            sys.exit(f"a layer has {digest}, and diff_ids {plain}")
    print(json.dumps(config))


if __name__ == "__main__":
    commands = {"push": push, "pull": pull}
    commands[sys.argv[1]](*sys.argv[2:])
