"""The world a command runs in: the one place where environment, clock and adapters meet."""

from __future__ import annotations

import datetime
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from controller import __version__
from controller.adapters.git import Git
from controller.adapters.mlflow import CREDENTIALS, MlflowTracking, NoTracking
from controller.adapters.parses import FileParses
from controller.decision.rules.surroundings import looks_like_a_secret
from controller.effects import apply
from controller.effects.request import Surroundings
from controller.errors import UsageError
from controller.evidence import gather
from controller.evidence.facts import ObservedRun
from controller.ledger.book import TRUST, Trust, page
from controller.ledger.store import MissingLedgerError
from controller.values import CommitId, writable

if TYPE_CHECKING:
    from controller.adapters.ledger_git import GitLedger
    from controller.adapters.local import LocalWorkspace
    from controller.adapters.notes import LocalHost


class Workspace(gather.Workspace, apply.Workspace, Protocol):
    """A place where runs live, as both who asks and who acts see it."""

    def runs(self) -> Sequence[ObservedRun]:
        """Return every run there is: for drift and for `stop --all`, never for a pass."""
        ...


@dataclass(frozen=True)
class World:
    """Everything outside that a command may touch. Adapters are made when first asked for."""

    root: Path
    environ: Mapping[str, str]
    now: gather.Clock

    @cached_property
    def git(self) -> Git:
        """The repository. Raises UsageError where there is none."""
        return Git(self.root)

    @cached_property
    def parses(self) -> FileParses:
        """What is remembered of manifests parsed before."""
        return FileParses(self.git)

    @cached_property
    def state_dir(self) -> Path:
        """Where the local workspace keeps its runs and data."""
        return (self.root / (self.environ.get("ADMIT_STATE_DIR") or ".admit")).absolute()

    def host(self, root: CommitId | None = None) -> LocalHost:
        """Return who approved what, on top of a trusted root. Raises UsageError for no host."""
        match self._choice("ADMIT_HOST", ("local", "github")):
            case "local":
                if self.environ.get("ADMIT_WORKSPACE") == "azureml":
                    raise UsageError(
                        "approvals of the local host do not count for an Azure ML workspace",
                        remedy="set `ADMIT_HOST=github`",
                    )
                from controller.adapters.notes import LocalHost

                return LocalHost(self.git, self.now, root)
            case other:
                raise _not_yet("ADMIT_HOST", other)

    @cached_property
    def workspace(self) -> LocalWorkspace:
        """Where runs live. Raises UsageError when none is configured: there is no default."""
        match self._choice("ADMIT_WORKSPACE", ("local", "azureml")):
            case "local":
                from controller.adapters.local import LocalWorkspace

                return LocalWorkspace(self.state_dir, self.now)
            case other:
                raise _not_yet("ADMIT_WORKSPACE", other)

    @cached_property
    def ledger(self) -> GitLedger:
        """Where everything is recorded. Raises UsageError for a bad `ADMIT_LEDGER`."""
        return self._ledger(offline=False)

    @property
    def who(self) -> str:
        """Who gives orders here, for the record: GitHub's actor, git's user, or this machine's."""
        code, name, _ = self.git.runner.attempt("config", "user.name")
        known = name.decode("utf-8", "replace").strip() if code == 0 else ""
        actor = self.environ.get("GITHUB_ACTOR") or known or self.environ.get("USER")
        return writable(actor or "somebody")

    def pause(self, turn: int) -> None:
        """Wait a little before another turn, longer each time, and not as long as others do."""
        time.sleep(random.uniform(0, 0.05 * 2**turn))  # noqa: S311

    def _ledger(self, *, offline: bool) -> GitLedger:
        from controller.adapters.ledger_git import GitLedger, ledger_place

        branch, remote = ledger_place(self.environ.get("ADMIT_LEDGER", ""), self.git.remotes())
        return GitLedger(self.git.runner, branch, remote, offline=offline)

    @cached_property
    def fetched_ledger(self) -> GitLedger:
        """The ledger as this clone has it: nothing is fetched, and nothing can be written."""
        return self._ledger(offline=True)

    @cached_property
    def trusted_root(self) -> CommitId | None:
        """The commit of main that the ledger trusts, as far as this clone knows."""
        try:
            pages = self.fetched_ledger.read(lambda path: path == TRUST)
        except MissingLedgerError:
            return None
        return page(Trust, TRUST, pages.files).root

    @cached_property
    def tracking(self) -> gather.Tracking:
        """The team's MLflow, as this command reaches it."""
        uri = self._url("ADMIT_MLFLOW_TRACKING_URI")
        if not uri:
            return NoTracking("`ADMIT_MLFLOW_TRACKING_URI` is not set")
        given = {name: self.environ.get(f"ADMIT_{name}", "") for name in CREDENTIALS}
        return MlflowTracking(uri, {name: value for name, value in given.items() if value})

    @cached_property
    def surroundings(self) -> Surroundings:
        """What of this place goes into every submission. Raises UsageError for a bad URL."""
        return Surroundings(
            controller_version=__version__,
            workspace=self.workspace.id,
            mlflow_uri=self._url("ADMIT_MLFLOW_TRACKING_URI"),
            results_url=self._url("ADMIT_RESULTS_URL"),
        )

    def _choice(self, variable: str, known: Iterable[str]) -> str:
        value = self.environ.get(variable, "")
        if value not in known:
            said = f"`{variable}` is `{value}`" if value else f"`{variable}` is not set"
            raise UsageError(said, remedy=f"set `{variable}=local`")
        return value

    def _url(self, variable: str) -> str:
        """Return a URL that may be shown to a job: one without a user, a password or a token."""
        value = self.environ.get(variable, "")
        scheme, _, rest = value.partition("://")
        if value and not (scheme and rest):
            raise UsageError(
                f"`{variable}` is not a URL", remedy="write it whole: `https://mlflow.example.com`"
            )
        if "@" in rest.partition("/")[0] or looks_like_a_secret(value):
            raise UsageError(
                f"`{variable}` contains credentials, and every job would see them",
                remedy="give the URL alone; jobs get credentials by a `keyvault://` reference",
            )
        return value


def world_from(environ: Mapping[str, str], root: Path) -> World:
    """Return the world of this process."""
    return World(root, environ, lambda: datetime.datetime.now(datetime.UTC))


def _not_yet(variable: str, value: str) -> UsageError:
    return UsageError(
        f"`{variable}={value}` is not part of version {__version__}",
        remedy=f"set `{variable}=local`",
    )
