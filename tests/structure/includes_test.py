"""The product's #include lines show no circle of modules, and no arrow that the CMake files do not allow.

A module is a header with its source, by their common name. Folder A may include from folder B if a library with sources
in A links, perhaps by way of others, a library with sources in B. A folder without a library holds headers for all."""

import os
import re
import sys

PRODUCT = ("base", "http", "metrics", "proto", "unwind", "python", "inject", "bpf", "options", "node-agent",
           "aggregator", "report", "timeline", "fleet", "cli")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def product_files(root):
    for top in PRODUCT:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), root)


def module_of(path):
    folder, name = os.path.split(path)
    return folder + "/" + name.split(".")[0]


def find_includes(root, files):
    """Pairs of files of the product: who includes, and what. Generated headers are in no folder."""
    known = set(files)
    for path in files:
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(os.path.join(root, path)), re.M):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if beside in known or name in known:
                yield path, beside if beside in known else name


def find_circle(graph):
    """The nodes of one circle, in order; None: there is none."""
    state = {}
    for start in sorted(graph):
        if start in state:
            continue
        way, turns = [start], [iter(sorted(graph[start]))]
        state[start] = "open"
        while way:
            following = next(turns[-1], None)
            if following is None:
                state[way.pop()] = "done"
                turns.pop()
            elif state.get(following) == "open":
                return way[way.index(following):] + [following]
            elif following not in state:
                state[following] = "open"
                way.append(following)
                turns.append(iter(sorted(graph.get(following, ()))))
    return None


def check_circles(includes):
    """Each circle found is reported with its files, and opened at its last arrow to find the next one."""
    graph, lines = {}, {}
    for path, included in includes:
        a, b = module_of(path), module_of(included)
        if a != b:
            graph.setdefault(a, set()).add(b)
            lines.setdefault((a, b), f"{path} includes {included}")
    faults = []
    while circle := find_circle(graph):
        arrows = list(zip(circle, circle[1:]))
        faults.append("circle of modules:\n" + "".join(f"    {lines[arrow]}\n" for arrow in arrows))
        graph[arrows[-1][0]].discard(arrows[-1][1])
    return faults


class Libraries:
    """Which folders each target of the CMake files has its sources in, and what it links."""

    def __init__(self, root):
        self.root = root
        self.folders, self.links, self.variables = {}, {}, {}
        for path in product_files(root):
            if os.path.basename(path) == "CMakeLists.txt":
                self.read_file(path)

    def read_file(self, path):
        text = re.sub(r"#.*", "", read(os.path.join(self.root, path)))
        for command, arguments in re.findall(r"(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)", text):
            words = arguments.replace('"', "").split()
            if command == "set" and words:
                self.variables[words[0]] = words[1:]
            elif command == "list" and words[:1] == ["APPEND"]:
                self.variables.setdefault(words[1], []).extend(words[2:])
            elif command in ("add_library", "add_executable", "target_sources"):
                if "INTERFACE" in words:
                    self.folders.setdefault(words[0], {os.path.dirname(path)})
                self.add_sources(os.path.dirname(path), words[0], words[1:])
            elif command == "target_link_libraries":
                self.links.setdefault(words[0], set()).update(words[1:])

    def add_sources(self, folder, target, words):
        for word in words:
            variable = re.fullmatch(r"\$\{(\w+)\}", word)
            objects = re.fullmatch(r"\$<TARGET_OBJECTS:(.+)>", word)
            if variable:
                self.add_sources(folder, target, self.variables.get(variable.group(1), []))
            elif objects:
                self.links.setdefault(target, set()).add(objects.group(1))
            elif word.endswith(".c"):
                source = re.sub(r"\$\{(PROJECT|CMAKE)_SOURCE_DIR\}/", "/", word)
                source = source.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
                source = source.lstrip("/") if source.startswith("/") else os.path.join(folder, source)
                self.folders.setdefault(target, set()).add(os.path.dirname(os.path.normpath(source)))

    def reached(self, target):
        found, new = set(), [target]
        while new:
            target = new.pop()
            if target not in found:
                found.add(target)
                new.extend(self.links.get(target, ()))
        return found

    def of_folder(self, folder):
        """Those with sources in this folder alone; where there is none, all that have sources in it."""
        alone = [target for target, folders in self.folders.items() if folders == {folder}]
        return alone or [target for target, folders in self.folders.items() if folder in folders]

    def allowed(self):
        """The arrows between folders, as pairs; and the folders that have a library."""
        arrows, with_library = set(), set().union(*self.folders.values())
        for folder in with_library:
            for target in self.of_folder(folder):
                for other in self.reached(target):
                    arrows.update((folder, used) for used in self.folders.get(other, ()))
        return arrows, with_library


def check_arrows(root, includes):
    allowed, with_library = Libraries(root).allowed()
    faults = {}
    for path, included in includes:
        arrow = os.path.dirname(path), os.path.dirname(included)
        if arrow[0] != arrow[1] and arrow[1] in with_library and arrow not in allowed:
            faults.setdefault(arrow, f"no link allows {arrow[0]} to include from {arrow[1]}:\n")
            faults[arrow] += f"    {path} includes {included}\n"
    return list(faults.values())


def main():
    root = sys.argv[1]
    files = [path for path in product_files(root) if path.endswith((".c", ".h"))]
    includes = list(find_includes(root, files))
    assert len(includes) > 1000, "these are not the product's folders"
    faults = check_circles(includes) + check_arrows(root, includes)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
