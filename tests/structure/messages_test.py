"""messages_test.py SOURCE: docs/data-loss.md has each counter, docs/messages.md each exit status and no message that is gone.

Messages are compared by the parts between placeholders, because sentences are put together from pieces."""

import os
import re
import sys

PRODUCT = ("base", "http", "metrics", "proto", "inject", "node-agent", "aggregator", "report", "timeline", "fleet",
           "cli")
CLASSES = {"PRODUCED": "produced", "LOST": "lost", "NOTED": "noted", "ENDS": "end", "COST": "cost"}


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def rows(text):
    """The cells of each line of a table, without its heads and rulers."""
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and not cells[0].startswith(("---", "message", "part", "status", "counter")):
            yield cells


def section(text, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)


def join_literals(text):
    """C code with its string literals put together, as the compiler does, and each conversion as one mark."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'"\s*(?:\b[A-Z][A-Z0-9_a-z]*\s*)?"', "", text)
    return re.sub(r"%[-+0-9.*#]*(?:hh|ll|[hlz])?[a-zA-Z]|%$", "…", text, flags=re.M).replace('\\"', '"').replace("%%", "%")


def product_text(root):
    for top in PRODUCT:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".c", ".h")):
                    yield join_literals(read(root, os.path.join(folder, name)))


def check_counters(root):
    known = {name: CLASSES[kind] for name, kind in
             re.findall(r'\{"(\w+)",[^{}]*?LEDGER_(PRODUCED|LOST|NOTED|ENDS|COST)\}', read(root, "proto/ledger.c"))}
    assert len(known) == len(re.findall(r"^\tLEDGER_\w+ =", read(root, "proto/ledger.h"), re.M)), "ledger.c is read wrongly"
    listed = [(cells[0].strip("`"), cells[1]) for cells in rows(section(read(root, "docs/data-loss.md"), "By counter"))]
    for name in sorted(known):
        if listed.count((name, known[name])) != 1:
            yield f"docs/data-loss.md: {name} has no line of its own with class {known[name]}"
    for name, _ in listed:
        if name not in known:
            yield f"docs/data-loss.md: proto/ledger.c has no counter {name}"


def check_statuses(root):
    known = re.findall(r"^#define EXIT_\w+\s+(\d+)", read(root, "cli/base/verbs.h"), re.M)
    listed = [cells[0] for cells in rows(section(read(root, "docs/messages.md"), "Exit statuses"))]
    if sorted(known) != sorted(listed):
        yield f"docs/messages.md: exit statuses are {known}, not {listed}"


def check_messages(root):
    code = "\n".join(product_text(root))
    messages = [message for cells in rows(read(root, "docs/messages.md")) for message in re.findall(r"`([^`]+)`", cells[0])]
    assert len(messages) > 90, "this is not the page of messages"
    for message in messages:
        for part in message.split("…"):
            if part not in code:
                yield f"docs/messages.md: no message has: {part}"


def main():
    root = sys.argv[1]
    faults = [*check_counters(root), *check_statuses(root), *check_messages(root)]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
