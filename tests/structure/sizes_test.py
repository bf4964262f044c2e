#!/usr/bin/env python3
"""sizes_test.py SOURCE: how much a reader has to take in at once (CONTRIBUTING.md, 2 and 13).

Fails on a line of the product or of its documents above 120 columns, on a file of the product above 600 lines, on a
function above 80, and on a folder with more than 60 files. In documents, tables and blocks of code may have longer lines.
Lists sentences above 35 words in comments and documents, without failing: they want rewriting.
"""
import collections
import os
import re
import sys

PRODUCT = ("base", "http", "metrics", "proto", "unwind", "python", "inject", "bpf", "options", "node-agent", "aggregator",
           "report", "timeline", "fleet", "cli", "deploy", "api")
DOCUMENTS = (".", "docs", "docs/how-to", "proto")  # not docs/measurements, which tell of one day each
SCRIPTS = (".js", ".mjs", ".css", ".py", ".sh")  # their lines have no limit here
COLUMNS, FILE_LINES, FUNCTION_LINES, FOLDER_FILES, WORDS = 120, 600, 80, 60, 35


def files(source, tops):
    for top in tops:
        for folder, folders, names in os.walk(os.path.join(source, top)):
            folders[:] = [name for name in folders if name != "corpus"]
            yield os.path.relpath(folder, source), sorted(names)


def functions(lines):
    """(line, length) of each function: from its opening brace to its closing one, both in the first column."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            yield begin, number - begin + 2
            begin = None


def comments(text):
    for comment in re.findall(r"/\*(.*?)\*/", text, re.DOTALL):
        yield re.sub(r"\n\s*\*", "\n", comment)


def sentences(prose):
    for sentence in re.split(r"(?<=[.:;?!])\s+|\n\s*\n|\n\s*-\s", prose):
        yield " ".join(sentence.split())


def document_lines(text):
    """(number, line, kind) of each line: code, table or prose."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.startswith("```")
        kind = "code" if fenced or line.startswith(("```", "\t")) else "table" if line.startswith("|") else "prose"
        yield number, line, kind


def documents(source):
    """(path, text) of each."""
    for folder in DOCUMENTS:
        for name in sorted(os.listdir(os.path.join(source, folder))):
            if name.endswith(".md"):
                path = os.path.normpath(os.path.join(folder, name))
                with open(os.path.join(source, path), encoding="utf-8") as file:
                    yield path, file.read()


def main(source):
    faults, long_sentences = [], []
    for folder, names in files(source, PRODUCT + ("tests",)):
        if len(names) > FOLDER_FILES:
            faults.append(f"{folder}: {len(names)} files")
    for folder, names in files(source, PRODUCT):
        for name in names:
            if not name.endswith((".c", ".h") + SCRIPTS):
                continue
            path = os.path.join(folder, name)
            with open(os.path.join(source, path), encoding="utf-8") as file:
                text = file.read()
            lines = text.split("\n")[:-1]
            if len(lines) > FILE_LINES:
                faults.append(f"{path}: {len(lines)} lines")
            if name.endswith(SCRIPTS):
                continue
            faults += [f"{path}:{number}: {len(line.expandtabs(8))} columns"
                       for number, line in enumerate(lines, 1) if len(line.expandtabs(8)) > COLUMNS]
            faults += [f"{path}:{number}: a function of {length} lines"
                       for number, length in functions(lines) if length > FUNCTION_LINES]
            long_sentences += [(path, sentence) for comment in comments(text) for sentence in sentences(comment)
                               if len(sentence.split()) > WORDS]
    for path, text in documents(source):
        lines = list(document_lines(text))
        faults += [f"{path}:{number}: {len(line)} columns" for number, line, kind in lines
                   if kind == "prose" and len(line) > COLUMNS]
        # Each cell of a table is a text of its own, and nothing goes on behind code.
        prose = "\n".join("" if kind == "code" else line.replace("|", "\n\n") for _, line, kind in lines)
        long_sentences += [(path, sentence) for sentence in sentences(prose) if len(sentence.split()) > WORDS]
    count = collections.Counter(path for path, _ in long_sentences)
    print(f"{len(long_sentences)} sentences above {WORDS} words; most in: "
          + ", ".join(f"{path} ({number})" for path, number in count.most_common(5)))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
