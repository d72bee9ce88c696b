"""The answer to `admit explain`: what a word names, as one tree for each thing it names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from controller.decision.verdict import Outcome
from controller.evidence.gather import admission_path
from controller.explain.admissions import admission_node
from controller.explain.jobs import job_node
from controller.explain.moment import Moment, moment_of
from controller.explain.papers import UNREADABLE, papers_of
from controller.explain.runs import decided, run_node
from controller.explain.subjects import Grant, Job, Run, Subject, subjects_of
from controller.ledger.book import DamagedLedgerError
from controller.report.outcome import Node, Report
from controller.wiring import World


def explain(world: World, word: str, at: str | None = None, *, verbose: bool = False) -> Report:
    """Return why things are as they are with a job, an admission or a run, now or `at` then.

    Raises UsageError for what names nothing, MissingLedgerError without a ledger.
    """
    with only_refusals():
        moment = moment_of(world, at)
        nodes = _nodes(world, subjects_of(word, moment), moment, verbose=verbose)
        tree = (looked_at(moment), *nodes)
    return Report("explain", world.now(), commit=moment.main, tree=tree)


def looked_at(moment: Moment) -> Node:
    """Return which main and which ledger are looked at, and what is odd about them."""
    notes = tuple(Node(note, Outcome.UNDECIDED) for note in moment.notes)
    return Node(moment.said, None, notes)


@contextmanager
def only_refusals() -> Iterator[None]:
    """Make an AdmitError of what numbers, times and texts of the ledger can come to."""
    try:
        yield
    except UNREADABLE as error:
        raise DamagedLedgerError(
            f"the ledger has a number, a time or a text that cannot be: {error}",
            remedy="`admit ledger fsck` names the commit that broke it",
        ) from error


def _nodes(
    world: World, subjects: tuple[Subject, ...], moment: Moment, *, verbose: bool
) -> Iterator[Node]:
    """Yield the tree of each; an admission that shares its name with a job is only named."""
    jobs = [subject for subject in subjects if isinstance(subject, Job)]
    for subject in subjects:
        match subject:
            case Job():
                yield job_node(world, subject, moment, verbose=verbose)
            case Grant(id=id_) if jobs:
                path = admission_path(id_)
                yield Node(f"`{id_}` is also an admission: name it `{path}` to have it explained")
            case Grant():
                yield admission_node(world, subject, moment, verbose=verbose)
            case Run():
                yield _run_node(world, subject, moment, verbose=verbose)


def _run_node(world: World, subject: Run, moment: Moment, *, verbose: bool) -> Node:
    """Return a run's tree; what is decided about its manifest belongs to it while it is open."""
    record = subject.record
    papers = papers_of(world, moment, [record], {})
    node = run_node(record, moment, papers, verbose=verbose)
    more: list[Node] = []
    if record.active and record.path in moment.book.decisions:
        about = decided(moment.book.decisions[record.path], moment, "")
        more.append(Node(f"about its manifest, {about.text}", None, about.children))
    if subject.run != record.run:
        more.append(Node(f"`{subject.run}` is an earlier attempt of it"))
    return replace(node, children=(*node.children, *more))
