"""Checks an OCI image layout and unpacks its layers: oci_layout.py LAYOUT ROOT"""
import hashlib
import gzip
import json
import os
import sys
import tarfile
import io

layout, root = sys.argv[1:]


def blob(descriptor):
    kind, _, digest = descriptor["digest"].partition(":")
    with open(os.path.join(layout, "blobs", kind, digest), "rb") as file:
        data = file.read()
    assert hashlib.new(kind, data).hexdigest() == digest, digest
    assert len(data) == descriptor["size"], descriptor
    return data


with open(os.path.join(layout, "oci-layout"), encoding="utf-8") as file:
    assert json.load(file) == {"imageLayoutVersion": "1.0.0"}
with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
    index = json.load(file)
(descriptor,) = index["manifests"]
manifest = json.loads(blob(descriptor))
config = json.loads(blob(manifest["config"]))
assert index["schemaVersion"] == manifest["schemaVersion"] == 2
assert config["architecture"] == "amd64" and config["os"] == "linux"
layers = [gzip.decompress(blob(layer)) for layer in manifest["layers"]]
assert ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers] == config["rootfs"]["diff_ids"]
for layer in layers:
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        archive.extractall(root)
assert os.access(root + config["config"]["Entrypoint"][0], os.X_OK)
