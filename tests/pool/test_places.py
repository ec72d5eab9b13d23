"""Which folders of a node are worked in: those of others, never the ones that decide what the node runs."""

from pathlib import Path

import pytest

from planck.config.load import ConfigError
from planck.config.schema import NodeEntry
from planck.headless.pool.places import Places, describe_source
from planck.records.outcome import ErrorKind


def places(tmp_path: Path, *accept: str) -> Places:
    for name in ("user/.planck/work/s1", "user/project", "shared"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "user")
    return Places(
        tmp_path / "user" / ".planck",
        NodeEntry(accept=[*accept]),
        {"HOME": str(tmp_path / "user"), "PATH": "/bin"},
    )


@pytest.mark.parametrize("name", ["user/.planck", "user/.planck/work/s1", "user", "link", "."])
async def test_a_shared_folder_is_not_the_home_of_whoever_runs_the_node(tmp_path: Path, name: str) -> None:
    here, folder = places(tmp_path), str(tmp_path / name)
    for workspace in (describe_source(folder, ""), {"kind": "shared", "path": folder}):
        with pytest.raises(ConfigError) as refused:
            await here.prepare("s2", workspace)
        assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED
        assert "node.accept" in refused.value.err.message


@pytest.mark.parametrize("name", ["user/project", "shared"])
async def test_any_other_folder_may_be_shared(tmp_path: Path, name: str) -> None:
    here = places(tmp_path)
    place = await here.prepare("s2", describe_source(str(tmp_path / name), ""))
    assert (place.folder, place.trusted) == (tmp_path / name, False)


async def test_whoever_names_their_home_means_it(tmp_path: Path) -> None:
    here = places(tmp_path, str(tmp_path / "user"))
    place = await here.prepare("s2", describe_source(str(tmp_path / "user"), ""))
    assert place.folder == tmp_path / "user"
