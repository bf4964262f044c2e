"""limits_test.py SOURCE: each bound of docs/limits.md has the value that the code gives to its constant.

Counters and messages that the page names must exist, too."""

import os
import re
import sys

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": 10**9, "ms": 10**6}
PRODUCT = ("base", "http", "metrics", "proto", "inject", "unwind", "node-agent", "aggregator", "report", "fleet",
           "cli")


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def rows(text):
    """The bound, the value, the constant, its file and the last cell of each line of a table."""
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and not cells[0].startswith(("---", "bound")):
            yield cells


def value_of(cell):
    """The number of a cell such as 1,024 or 64 MiB; a time is in ns."""
    number, _, unit = cell.partition(" ")
    return int(number.replace(",", "")) * UNITS.get(unit, 1)


def definition(text, name):
    """The expression of a macro or of a member of an initialiser."""
    pattern = rf"{re.escape(name)} = ([^,]+)," if name.startswith(".") else rf"^#define[ \t]+{name}[ \t]+(.+)$"
    found = re.search(pattern, re.sub(r"/\*.*?\*/", "", text, flags=re.S), re.M)
    return found.group(1) if found else None


def evaluate(everything, expression):
    """A constant expression of C without casts; it may name other constants of the product."""
    def resolve(match):
        inner = definition(everything, match.group(0))
        return str(evaluate(everything, inner)) if inner else match.group(0)

    plain = re.sub(r"(?<=\d)[uUlL]+\b", "", expression)
    plain = re.sub(r"\b[A-Z][A-Z0-9_]+\b", resolve, plain)
    if not re.fullmatch(r"[\d\s()<*/+-]+", plain):
        raise ValueError(f"{expression} is no constant that this test can read")
    return eval(plain.replace("/", "//"))  # digits and operators alone


def product(root):
    for top in PRODUCT:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".c", ".h")):
                    yield read(root, os.path.join(folder, name))


def check_row(root, everything, cells):
    bound, value, constant = cells[:3]
    match = re.fullmatch(r"`([.\w]+)` in `([\w./-]+)`", constant)
    if not match:
        return f"{bound}: {constant} names no constant and file"
    name, path = match.groups()
    expression = definition(read(root, path), name)
    if expression is None:
        return f"{bound}: {path} does not define {name}"
    if evaluate(everything, expression) != value_of(value):
        return f"{bound}: {name} is {expression.strip()}, not {value}"
    return None


def check_said(root, everything, cells):
    """Each name in the last cell is a counter, or a text of the code."""
    literals = re.sub(r'"\s*"', "", everything)
    for said in re.findall(r"`([^`]+)`", cells[4] if len(cells) > 4 else ""):
        if f'{{"{said}",' not in read(root, "proto/ledger.c") and said not in literals:
            yield f"{cells[0]}: no counter and no message has: {said}"


def main():
    root = sys.argv[1]
    everything = "\n".join(product(root))
    faults = []
    table = list(rows(read(root, "docs/limits.md")))
    assert len(table) > 60, "this is not the page of limits"
    for cells in table:
        fault = check_row(root, everything, cells)
        faults += [fault] if fault else []
        faults += check_said(root, everything, cells)
    print("\n".join(f"docs/limits.md: {fault}" for fault in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
