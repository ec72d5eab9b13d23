"""A workspace on the real disk with things beside it that the sandbox must not touch."""

import hashlib
import os
from pathlib import Path
from typing import Any

from planck.records.authority import Confinement, Mode
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import Command, Completed, run, shell

NOBODY = 65534


class Place:
    """A workspace, what lies beside it, and servers that the sandbox must not reach."""

    def __init__(self, base: Path, owner: int) -> None:
        self.base = base
        self.ws = base / "ws"
        self.out = base / "out"
        self.secrets = base / "home" / ".ssh"
        self.netrc = base / "home" / ".netrc"
        for folder in (self.ws / ".git/hooks", self.ws / "vendor/lib/.git/hooks", self.out, self.secrets):
            folder.mkdir(parents=True)
        (self.ws / "tree/real-git/hooks").mkdir(parents=True)
        (self.ws / "tree/.git").write_text("gitdir: real-git\n")
        (self.ws / ".git/config").write_text("[core]\n")
        (self.ws / "mine").write_text("mine")
        (self.ws / "link-to-out").symlink_to(self.out)
        (self.out / "file").write_text("outside")
        (self.out / "unwanted").touch()
        (self.secrets / "id_rsa").write_text("canary")
        self.netrc.write_text("canary")
        if owner != os.geteuid():
            for path in (base, *base.rglob("*")):
                os.chown(path, owner, owner, follow_symlinks=False)

    def rights(self, mode: Mode, **more: Any) -> Confinement:
        ws = (str(self.ws),)
        writable = ws if mode is Mode.WORKSPACE else ()
        return Confinement(mode, ws, writable, masked=(str(self.secrets), str(self.netrc)), **more)

    async def run(self, mode: Mode, command: str, **more: Any) -> Completed:
        environment = allowed({"PATH": "/usr/bin:/bin", "FOO_API_KEY": "canary"})
        return await run(
            Command(shell(command), self.ws, environment, confinement=self.rights(mode, **more)), timeout=30
        )

    def digest(self, folder: Path) -> str:
        """Of every name, mode, link, time and content."""
        whole = hashlib.sha256()
        for path in sorted(folder.rglob("*")):
            found = path.lstat()
            whole.update(f"{path} {found.st_mode} {found.st_mtime_ns}\n".encode())
            if path.is_symlink():
                whole.update(os.readlink(path).encode())
            elif path.is_file():
                whole.update(path.read_bytes())
        return whole.hexdigest()
