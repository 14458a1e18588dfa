#!/usr/bin/env python3
"""Fails, with the names of the files, where files of a crate depend on each other in a circle.

An edge is a path that begins with `crate`, `super` or `self`, as far as it names a file. A parent may name its
children, whom it declares and re-exports; inline test modules do not count.

    infra/circles.py [FOLDER ...]    by default the sources of every crate in shared/ and functions/
"""

import pathlib
import re
import sys

# A path, up to the braces that list several.
START = re.compile(r"\b(crate|super|self)((?:::\w+)*)(::\{)?")
# Circles that are known and being undone, by crate. A crate leaves this list and never returns.
KNOWN = set()


def code(text):
    """The text without comments and inline test modules."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"#\[cfg\(test\)\]\s*mod tests \{.*", "", text, flags=re.S)


def group(text):
    """What stands between braces, of which the first is open already."""
    depth = 1
    for end, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return text[:end]
    return text


def items(text):
    """The paths that a list in braces spells, nested lists taken apart."""
    depth, item = 0, ""
    for character in text + ",":
        if character == "," and depth == 0:
            path, brace, rest = item.strip().partition("::{")
            if brace:
                yield from (path.split("::") + inner for inner in items(group(rest)))
            elif path:
                yield path.split(" as ")[0].split("::")
            item = ""
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        item += character


def paths(text):
    for match in START.finditer(text):
        prefix = match[2].split("::")[1:]
        several = items(group(text[match.end():])) if match[3] else [[]]
        yield from ((match[1], prefix + path) for path in several)


def edges(source):
    """The files that each file depends on, both by their module paths."""
    modules = {}
    for file in sorted(source.rglob("*.rs")):
        module = file.relative_to(source).with_suffix("").parts
        modules[module[:-1] if module[-1] in ("lib", "main", "mod") else module] = file
    graph = {module: set() for module in modules}
    for module, file in modules.items():
        for base, path in paths(code(file.read_text())):
            start = {"crate": (), "super": module[:-1], "self": module}[base]
            named = start + tuple(path)
            while named and named not in modules:
                named = named[:-1]
            is_child = named[: len(module)] == module
            if named and not is_child:
                graph[module].add(named)
    return graph


def circles(graph):
    """The sets of modules each of which reaches all others of its set (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def main():
    sys.setrecursionlimit(10_000)
    root = pathlib.Path(__file__).resolve().parent.parent
    given = [pathlib.Path(folder) for folder in sys.argv[1:]]
    sources = given or sorted([*root.glob("shared/*/src"), *root.glob("functions/*/src")])
    failed = not sources
    for source in sources:
        name = source.resolve().parent.name
        for circle in circles(edges(source)):
            if given or name not in KNOWN:
                failed = True
                files = ", ".join("/".join(module) + ".rs" for module in circle)
                print(f"{source}: these files depend on each other in a circle: {files}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
