"""Prints the folder store that `make run` keeps for a vault folder, as a file:// URL; with --state, the folder of the
sync state that goes with it, so that whoever deletes the stores begins anew.

One store for each vault folder, told apart by the folder's whole path, so that two
vaults of one name never meet in one mirror.
"""

import hashlib
import re
import sys
from pathlib import Path

*options, folder = sys.argv[1:]
vault = Path(folder).resolve()
name = re.sub(r"[^A-Za-z0-9._-]+", "-", vault.name).strip("-.") or "vault"
digest = hashlib.sha256(str(vault).encode("utf-8", "surrogateescape")).hexdigest()[:8]
stores = Path(__file__).resolve().parent.parent / ".atlas-store"
store = stores / f"{name}-{digest}"
print(f"{store}.state" if "--state" in options else store.as_uri())
