"""What a supervisor needs to start a run, as data, and what it does with it at the start.

Everything was decided when the run was submitted; nothing here reads a manifest.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

EXPRESSION = re.compile(r"\$\{\{\s*(inputs|outputs)\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
"""What Azure ML replaces in a command."""


class MissingDataError(Exception):
    """An input is not where it should be; the text says which and where."""


@dataclass(frozen=True, slots=True)
class Place:
    """An input or output that is a file (`uri_file`) or a folder, at an absolute path."""

    name: str
    type: str
    path: str
    written: str
    """As the manifest has it; '' when it does not say."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One run, ready to start."""

    run: str
    command: str
    literals: Mapping[str, str]
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    environment: Mapping[str, str]
    """All that the ranks have in common: nothing else is passed on."""
    nodes: int
    processes: int
    """A node."""
    distributed: bool
    """Each process gets what `torch.distributed` reads."""
    timeout: int | None
    """Seconds, of the run."""
    grace: float
    """Seconds between SIGTERM and SIGKILL."""

    @property
    def ranks(self) -> int:
        """How many processes there are."""
        return self.nodes * self.processes

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Launch:
        """Return what `to_json` made text of."""
        fields = json.loads(text)
        for key in ("inputs", "outputs"):
            fields[key] = tuple(Place(**place) for place in fields[key])
        return cls(**fields)


def prepared(launch: Launch, make_folder: Callable[[Path], None]) -> str:
    """Find the inputs, make the outputs, and return the command as the shell gets it.

    Paths are quoted for the shell; literals are put in as they are, as Azure ML does. Raises
    MissingDataError.
    """
    values: dict[tuple[str, str], str] = {
        ("inputs", name): text for name, text in launch.literals.items()
    }
    for place in launch.inputs:
        values["inputs", place.name] = shlex.quote(str(_found(place)))
    for place in launch.outputs:
        path = Path(place.path)
        make_folder(path.parent if place.type == "uri_file" else path)
        values["outputs", place.name] = shlex.quote(place.path)
    return EXPRESSION.sub(lambda found: values[found[1], found[2]], launch.command)


def rank_environment(launch: Launch, rank: int, port: int) -> dict[str, str]:
    """Return the environment of one process, as Azure ML sets it for `distribution: pytorch`."""
    if not launch.distributed:
        return dict(launch.environment)
    return {
        **launch.environment,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % launch.processes),
        "WORLD_SIZE": str(launch.ranks),
        "NODE_RANK": str(rank // launch.processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def free_port() -> int:
    """Return a port of this machine that nobody listens on now; all ranks are given the same."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _found(place: Place) -> Path:
    path = Path(place.path)
    if not path.exists():
        raise MissingDataError(f"input `{place.name}`: `{place.written}` is not at `{path}`")
    if place.type != "uri_file" or path.is_file():
        return path
    files = sorted(path.iterdir())
    if len(files) != 1 or not files[0].is_file():
        count = f"{len(files)} entries" if files else "nothing"
        message = f"input `{place.name}` is one file, but `{path}` has {count} in it"
        raise MissingDataError(message)
    return files[0]
