#!/usr/bin/env python3
"""Packs a built `atlas` as an MCP bundle, and describes it for the MCP registry.

usage: pack.py BINARY PLATFORM OUT, where PLATFORM is as in the name of a release's archive, such as aarch64-apple-darwin
       pack.py --check: the packages have the version of Cargo.toml

Writes OUT/atlas-mirror-PLATFORM.mcpb and OUT/server.json. The same binary makes the same bytes.
"""

import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def of_cargo(name):
    """A value of the workspace's Cargo.toml."""
    return re.search(rf'^{name} = "([^"]+)"$', (PROJECT / "Cargo.toml").read_text(), re.MULTILINE).group(1)


def read(path):
    return json.loads((HERE / path).read_text())


def check():
    version = of_cargo("version")
    for path in ["mcpb/manifest.json", "claude-code/.claude-plugin/plugin.json"]:
        if read(path)["version"] != version:
            raise SystemExit(f"{path}: write the version of Cargo.toml, {version}")


def packed(binary, bundle):
    """Writes the bundle; returns the SHA-256 of its bytes."""
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, mode in [
            ("manifest.json", (HERE / "mcpb/manifest.json").read_bytes(), 0o644),
            ("server/atlas", binary.read_bytes(), 0o755),
        ]:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = mode << 16
            archive.writestr(entry, content)
    return hashlib.sha256(bundle.read_bytes()).hexdigest()


def described(bundle, sha256):
    """What the registry is told."""
    repository, version = of_cargo("repository"), of_cargo("version")
    owner = repository.split("/")[-2]
    manifest = read("mcpb/manifest.json")
    return {
        "$schema": SCHEMA,
        "name": f"io.github.{owner}/atlas-mirror",
        "title": manifest["display_name"],
        "description": manifest["description"],
        "version": version,
        "repository": {"url": repository, "source": "github"},
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": f"{repository}/releases/download/v{version}/{bundle.name}",
                "fileSha256": sha256,
                "transport": {"type": "stdio"},
            }
        ],
    }


def main(binary, platform, out):
    check()
    out.mkdir(parents=True, exist_ok=True)
    bundle = out / f"atlas-mirror-{platform}.mcpb"
    described_as = described(bundle, packed(binary, bundle))
    (out / "server.json").write_text(json.dumps(described_as, indent=2) + "\n")
    print(bundle)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--check"]:
            check()
        case [binary, platform, out]:
            main(Path(binary), platform, Path(out))
        case _:
            raise SystemExit(__doc__)
