"""json_test.py SOURCE: docs/report.schema.json allows no member that it does not name, and docs/json.md explains each."""

import json
import os
import re
import sys

# Objects may lack these. docs/json.md says when.
USE = {"sm", "occupancy", "tensor", "dram", "nvlink", "pcie"}
RESOURCES = {"energy"} | USE
USE_SUMS = {"sm_ns", "occupancy_ns", "tensor_ns", "dram_bytes", "nvlink_bytes", "pcie_bytes"}
OPTIONAL = {
    "profile": {"collectives", "marked_steps", "memory", "rank_count", "leaves_given_up", "sampled_kernels", "resources",
                "sampling_agreement", "kernel_metrics"},
    "plane": {"energy_mj"} | USE_SUMS,
    "gpu_resources": RESOURCES,
    "kernel_resources": RESOURCES,
    "stream": {"green", "multiprocessors"},
    "collective": {"host", "pid", "communicator_id"},
    "leaf": {"frame_ranks", "step_kind", "energy_mj", "energy_confidence"} | USE_SUMS |
            {name + "_confidence" for name in USE},
    "ranks_report": {"far_threads"},
}


def read(root, name):
    with open(os.path.join(root, "docs", name), encoding="utf-8") as file:
        return file.read()


def explained(text):
    """The members of each "### object" of the page, as often as its table has them."""
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        cells = re.findall(r"^\| (`.*?`) \|", section, re.M)
        yield section.split("\n", 1)[0], sorted(name for cell in cells for name in re.findall(r"`(\w+)`", cell))


def main():
    root, faults = sys.argv[1], []
    definitions = json.loads(read(root, "report.schema.json"))["definitions"]
    objects = {name: schema for name, schema in definitions.items() if schema.get("type") == "object"}
    assert len(objects) > 20, "this is not the schema"
    for name, schema in objects.items():
        members = set(schema["properties"])
        if schema["additionalProperties"] is not False:
            faults.append(f"report.schema.json: {name} allows more members")
        if members - set(schema["required"]) != OPTIONAL.get(name, set()) or not members >= set(schema["required"]):
            faults.append(f"report.schema.json: {name} does not require all of its members")
    page = dict(explained(read(root, "json.md")))
    if sorted(page) != sorted(objects):
        faults.append(f"json.md: explains other objects than the schema has: {sorted(set(page) ^ set(objects))}")
    for name, members in page.items():
        if name in objects and members != sorted(objects[name]["properties"]):
            faults.append(f"json.md: {name}: {sorted(set(members) ^ set(objects[name]['properties'])) or 'a member twice'}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
