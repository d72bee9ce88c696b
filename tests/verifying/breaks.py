"""Everything that somebody could do to a sound chain, and which edges are broken then."""

from __future__ import annotations

from tests.verifying.chains import ADMISSION, JOB
from tests.verifying.ways import (
    OTHER,
    OWNERS,
    POLICY,
    Break,
    aside,
    by_tag,
    gone,
    in_ledger,
    in_models,
    in_proof,
    in_record,
    in_run,
    in_workspace,
    lacks_a_rule,
    later_root,
    left_out,
    nobody,
    not_met,
    only_the_root_has_it,
    other_bytes,
    other_end,
    other_image,
    other_root,
    other_workspace,
    stranger,
    withdrawn,
)

BREAKS: dict[str, tuple[Break, set[str]]] = {
    "MLflow has the version of another run": (
        in_models(run="one-000000000000"),
        {"model version → run"},
    ),
    "MLflow has it with another record": (in_models(record=OTHER), {"model version → run"}),
    "MLflow has it of another MLflow run": (in_models(mlflow_run="77"), {"model version → run"}),
    "MLflow lost the version": (
        lambda c: c.models.found.clear(),
        {"model version → run"},
    ),
    "the run's record is no JSON": (
        in_ledger("runs/{run}.json", b"{"),
        {"run → ledger record"},
    ),
    "the run's record was removed": (
        in_ledger("runs/{run}.json", None),
        {"run → ledger record"},
    ),
    "it has the record of another run": (
        lambda c: c.edit_run(lambda said: said.update(name="two")),
        {"run → ledger record"},
    ),
    "its attempts are misnumbered": (
        in_run(lambda g: g["attempts"][0].update(number=2)),
        {"run → ledger record"},
    ),
    "the admission record has other bytes": (
        lambda c: c.forge(
            c.admitted(),
            c.file(c.admitted()).replace(b'"price":"', b'"price":" '),
        ),
        {"attempt → admission record", "findings → rules"},
    ),
    "the admission record was removed": (
        lambda c: c.forge(c.admitted(), None),
        {"attempt → admission record"},
    ),
    "the admission record is bound, but no JSON": (
        lambda c: c.rebind(b"[]\n"),
        {"attempt → admission record"},
    ),
    "it says another workspace": (
        in_record(other_workspace),
        {"admission record → reservation"},
    ),
    "it says another worst case": (
        in_record(lambda said: said.update(gpu_hours=0.1)),
        {"admission record → reservation", "findings → rules"},
    ),
    "the reservation is of another admission": (
        in_run(lambda g: g.update(admission="other")),
        {"admission record → reservation"},
    ),
    "it was judged at another time": (
        in_run(lambda g: g["attempts"][0].update(reserved_at="2026-11-30T19:00:00Z")),
        {"admission record → reservation"},
    ),
    "the payload has another command": (
        in_record(lambda said: said["payload"]["body"].update(command="mine")),
        {"admission record → payload"},
    ),
    "the fingerprint has another end": (
        in_record(other_end),
        {
            "admission record → reservation",
            "admission record → payload",
            "commit → manifest",
        },
    ),
    "the image is by its tag": (
        in_record(by_tag),
        {"payload → image", "admission record → payload"},
    ),
    "an attempt is left out": (in_run(left_out), {"run → ledger record"}),
    "another blob was recorded": (
        in_record(lambda said: said["blobs"].update({JOB: "0" * 40})),
        {"admission record → reservation", "commit → manifest", "manifest → approval"},
    ),
    "only the root has the manifest": (
        only_the_root_has_it,
        {"manifest → approval", "manifest → code host", "findings → rules"},
    ),
    "it says another image": (in_record(other_image), {"payload → image"}),
    "another dataset was read, by MLflow": (in_models(dataset=OTHER), {"payload → dataset"}),
    "another dataset was read, by the ledger": (
        in_run(lambda g: g["closed"]["outcome"].update(dataset=OTHER)),
        {"payload → dataset"},
    ),
    "the job was told another commit": (
        in_record(lambda said: said["injected"].update(ADMIT_COMMIT="0" * 40)),
        {"admission record → injected block"},
    ),
    "the job was told another model": (
        in_record(lambda said: said["injected"].update(ADMIT_MODEL="other")),
        {"commit → admission", "model version → run"},
    ),
    "the commit is not on main": (aside, {"commit → main"}),
    "the commit is below the trusted root": (
        later_root,
        {"commit → main", "policy → code host", "CODEOWNERS → code host"},
    ),
    "there is no such commit": (
        in_record(lambda said: said.update(commit="0" * 40)),
        {"commit → main", "admission record → injected block"},
    ),
    "the commit is no name of one": (
        in_record(lambda said: said.update(commit="main")),
        {"commit → main", "admission record → injected block"},
    ),
    "the ledger's trust is damaged": (in_ledger("ledger.json", b"{}"), {"commit → main"}),
    "the commit has another manifest": (
        other_bytes(JOB),
        {"commit → manifest", "manifest → code host", "findings → rules"},
    ),
    "the commit has another admission": (
        other_bytes(ADMISSION),
        {"commit → admission", "admission → code host", "findings → rules"},
    ),
    "the commit has another policy": (
        other_bytes(POLICY),
        {"commit → policy", "policy → code host", "findings → rules"},
    ),
    "the commit has another CODEOWNERS": (
        other_bytes(OWNERS),
        {"commit → CODEOWNERS", "CODEOWNERS → code host", "findings → rules"},
    ),
    "the manifest is of another name": (
        in_record(lambda said: said.update(name="two")),
        {"commit → manifest", "admission record → payload", "admission record → reservation"},
    ),
    "the proof was removed": (
        lambda c: c.forge(c.proof(ADMISSION), None),
        {"admission → approval"},
    ),
    "the proof is damaged": (lambda c: c.forge(c.proof(JOB), b"null"), {"manifest → approval"}),
    "the proof is of other bytes": (
        in_proof(JOB, lambda proof: proof.update(blob="0" * 40)),
        {"manifest → approval"},
    ),
    "the proof names others": (
        in_proof(JOB, lambda proof: proof["by"][0].update(login="ada")),
        {"manifest → approval"},
    ),
    "the proof is an older one of others alone": (
        in_proof(
            JOB,
            lambda proof: proof.update(
                at="2026-11-01T00:00:00Z", by=[{**proof["by"][0], "login": "ada"}]
            ),
        ),
        {"manifest → approval"},
    ),
    "a stranger approved": (stranger, {"manifest → approval", "manifest → code host"}),
    "nobody approved": (
        nobody,
        {"manifest → approval", "manifest → code host", "findings → rules"},
    ),
    "the root has another policy": (
        other_root(POLICY),
        {"policy → approval", "policy → code host"},
    ),
    "the root has another CODEOWNERS": (
        other_root(OWNERS),
        {"CODEOWNERS → approval", "CODEOWNERS → code host"},
    ),
    "the manifest's approval vanished": (withdrawn(JOB), {"manifest → code host"}),
    "the admission's approval vanished": (withdrawn(ADMISSION), {"admission → code host"}),
    "the policy is trusted no more": (withdrawn(POLICY), {"policy → code host"}),
    "CODEOWNERS is trusted no more": (withdrawn(OWNERS), {"CODEOWNERS → code host"}),
    "a finding was not met": (in_record(not_met), {"admission record → findings"}),
    "no rule was asked": (
        in_record(lambda said: said.update(findings=[])),
        {"admission record → findings", "findings → rules"},
    ),
    "a rule was left out": (in_record(lacks_a_rule), {"findings → rules"}),
    "the last policy asked for more": (
        in_record(lambda said: said["evidence"]["policy"].update(blob="0" * 40, minimum=2)),
        {"findings → rules"},
    ),
    "it costs more than was said": (
        in_record(lambda said: said.update(price="0.01 USD")),
        {"findings → rules"},
    ),
    "the workspace has no such run": (gone, {"run → workspace"}),
    "the workspace has another payload": (in_workspace(fingerprint="f" * 64), {"run → workspace"}),
    "it was started with another record": (
        in_workspace(record=OTHER),
        {"workspace → admission record"},
    ),
    "more was settled than was used": (
        in_run(lambda g: g["closed"].update(gpu_hours=0.01)),
        {"run → usage"},
    ),
    "the workspace forgot the times": (in_workspace(ended_at=None), set()),
}
