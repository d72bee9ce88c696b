"""The table of edges, in the order in which they are walked and shown."""

from __future__ import annotations

from collections.abc import Callable

from controller.report.outcome import Edge
from controller.verifying import approvals, commits, records, runs, verdicts
from controller.verifying.chain import Chain, Link, UnreadError, unchecked

EDGES: tuple[tuple[str, Callable[[Chain], Link]], ...] = (
    ("model version → run", runs.model),
    ("run → ledger record", records.ledger_record),
    ("attempt → admission record", records.admission_record),
    ("admission record → reservation", records.reservation),
    ("admission record → payload", records.payload),
    ("payload → image", records.image),
    ("payload → dataset", records.dataset),
    ("admission record → injected block", records.injected),
    ("commit → main", commits.main),
    ("commit → manifest", commits.manifest),
    ("commit → admission", commits.admission),
    ("commit → policy", commits.policy),
    ("commit → CODEOWNERS", commits.owners),
    ("manifest → approval", approvals.manifest_proved),
    ("admission → approval", approvals.admission_proved),
    ("policy → approval", approvals.policy_proved),
    ("CODEOWNERS → approval", approvals.owners_proved),
    ("manifest → code host", approvals.manifest_shown),
    ("admission → code host", approvals.admission_shown),
    ("policy → code host", approvals.policy_shown),
    ("CODEOWNERS → code host", approvals.owners_shown),
    ("admission record → findings", verdicts.findings),
    ("findings → rules", verdicts.judged_again),
    ("run → workspace", runs.workspace),
    ("workspace → admission record", runs.started_with),
    ("run → usage", runs.usage),
    ("usage → workspace", runs.measured),
    ("ledger → its history", records.ledger),
)
"""Every edge there is."""

_LONGEST = 1000
"""Characters of one sentence: what it quotes was written by others."""


def walk(chain: Chain) -> tuple[Edge, ...]:
    """Return what each edge comes to; one that rests on something unknown was not checked."""
    return tuple(Edge(name, *_walked(edge, chain)) for name, edge in EDGES)


def _walked(edge: Callable[[Chain], Link], chain: Chain) -> Link:
    try:
        outcome, what = edge(chain)
    except UnreadError as error:
        outcome, what = unchecked(str(error))
    return outcome, what if len(what) <= _LONGEST else what[:_LONGEST] + "…"
