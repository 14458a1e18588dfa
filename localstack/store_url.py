"""Prints the folder store that `make run` keeps for a vault folder, as a file:// URL.

One store for each vault folder, told apart by the folder's whole path, so that two
vaults of one name never meet in one mirror.
"""

import hashlib
import re
import sys
from pathlib import Path

vault = Path(sys.argv[1]).resolve()
name = re.sub(r"[^A-Za-z0-9._-]+", "-", vault.name).strip("-.") or "vault"
digest = hashlib.sha256(str(vault).encode("utf-8", "surrogateescape")).hexdigest()[:8]
stores = Path(__file__).resolve().parent.parent / ".atlas-store"
print((stores / f"{name}-{digest}").as_uri())
