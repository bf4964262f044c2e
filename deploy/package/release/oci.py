"""The OCI image, as a tar of an OCI image layout: one layer with the tree in /opt/flamegrid, and nothing else.

It has no shell. Its C library is the one that Flamegrid brings along; the program of `flamegrid demo` finds it by links.
"""
import hashlib
import json
import os
from datetime import datetime, timezone
from tree import Entry, Tree, below, gzip_of, tar_of

ROOT = "opt/flamegrid"


def write_image(tree: Tree, version: str, time: int, folder: str) -> str:
    created = datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    blobs = {}

    def add(data: bytes, kind: str) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = Entry(0o644, data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def document(value: dict) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    files = below(tree, ROOT)
    files["lib64/ld-linux-x86-64.so.2"] = Entry(0o777, link=f"/{ROOT}/lib/private/ld-linux-x86-64.so.2")
    for library in ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0"):
        files[f"lib/x86_64-linux-gnu/{library}"] = Entry(0o777, link=f"/{ROOT}/lib/private/{library}")
    files["tmp/.keep"] = Entry(0o644)  # `flamegrid run` makes its sockets in /tmp
    layer = tar_of(files, time)
    packed = add(gzip_of(layer), "layer.v1.tar+gzip")
    labels = {"org.opencontainers.image.title": "flamegrid", "org.opencontainers.image.version": version,
              "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.created": created}
    config = add(document({
        "architecture": "amd64", "os": "linux", "created": created,
        "config": {"Env": [f"PATH=/{ROOT}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                   "Entrypoint": [f"/{ROOT}/bin/flamegrid"], "WorkingDir": "/tmp", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "created_by": "flamegrid deploy/release"}]}), "config.v1+json")
    manifest = add(document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                             "config": config, "layers": [packed], "annotations": labels}), "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    manifest["platform"] = {"architecture": "amd64", "os": "linux"}
    blobs["oci-layout"] = Entry(0o644, document({"imageLayoutVersion": "1.0.0"}))
    blobs["index.json"] = Entry(0o644, document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                                 "manifests": [manifest]}))
    path = os.path.join(folder, f"flamegrid-{version}-oci.tar")
    with open(path, "wb") as file:
        file.write(tar_of(blobs, time))
    return path
