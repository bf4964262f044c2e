"""valid_report.py SCHEMA REPORT: the JSON report is as the schema says, and the schema would notice if it were not.

For that, each member of the report is taken out once, and each of its objects gets one member more: all of these
damaged reports must be refused. Members that not every report has are listed here."""

import copy
import json
import sys

import jsonschema

SUBJECTS = {"leaves": "profile", "compared": "ranks_report", "communicators": "straggler_report",
            "clocks": "clocks_report", "step_ranks": "steps_report", "kernel_times": "kernels_report", "event": "watch_event", "kernels_left_out": "top_report", "factor": "diff_report",
            "max_regress": "check_report"}
OPTIONAL = {"collectives", "marked_steps", "memory", "rank_count", "frame_ranks", "step_kind", "far_threads",
            "sampled_kernels", "sampling_agreement", "kernel_metrics", "resources", "energy", "energy_mj", "energy_confidence", "sm", "occupancy", "tensor", "dram", "nvlink", "pcie",
            "sm_ns", "occupancy_ns", "tensor_ns", "dram_bytes", "nvlink_bytes", "pcie_bytes", "sm_confidence",
            "occupancy_confidence", "tensor_confidence", "dram_confidence", "nvlink_confidence", "pcie_confidence"}


def refusal(validator, report):
    error = jsonschema.exceptions.best_match(validator.iter_errors(report))
    return error and "/".join(str(step) for step in error.absolute_path) + ": " + error.message[:500]


def shortened(value):
    """The report with two elements in each array of objects: what holds for them holds for the others."""
    if isinstance(value, dict):
        return {name: shortened(member) for name, member in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [shortened(element) for element in value[:2]]
    return value


def objects_in(value, path=()):
    if isinstance(value, dict):
        yield path
    for step, member in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(member, (dict, list)):
            yield from objects_in(member, path + (step,))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def damaged(report):
    for path in objects_in(report):
        copied = copy.deepcopy(report)
        at(copied, path)["unexpected"] = 0
        yield path + ("unexpected",), copied
        for name in sorted(set(at(report, path)) - OPTIONAL):
            copied = copy.deepcopy(report)
            del at(copied, path)[name]
            yield path + (name,), copied


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    subject, = (name for member, name in SUBJECTS.items() if member in report)
    one = jsonschema.Draft7Validator({**schema, "oneOf": [{"$ref": f"#/definitions/{subject}"}]})
    fault = refusal(one, report) or refusal(jsonschema.Draft7Validator(schema), report)
    if fault:
        sys.exit(fault)
    sample = shortened(report)
    assert one.is_valid(sample)
    accepted = ["/".join(map(str, path)) for path, wrong in damaged(sample) if one.is_valid(wrong)]
    if accepted:
        sys.exit("not noticed: " + " ".join(accepted))


if __name__ == "__main__":
    main()
