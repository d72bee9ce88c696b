"""Values as bytes and back: one spelling, and nothing but a refusal for everything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta, timezone
from functools import partial
from typing import Any

import pytest

from controller.ledger.book import Account, Decision, Heartbeat, Order
from controller.ledger.codec import SCHEMA, MalformedError, decoded, encoded, from_data
from controller.ledger.records import Over, RunRecord, over
from controller.values import AdmissionId, BlobId, CommitId
from tests.builders import NOW, record
from tests.ledger.values import FILES, Draw, at, nodes

ENDED = over(record(), Over("Failed", 12.5, exact=True, ended_at=NOW))
BEAT = Heartbeat(NOW, CommitId("c0ffee"), "local:here", "0.1.0")
ACCOUNT = Account(AdmissionId("a"), BlobId("b"), "@acme/nlp", date(2027, 3, 31), 1000.0)
DECISION = Decision("jobs/a.yml", "withhold", "", "why", NOW, CommitId("c0ffee"), ("timeout-set",))

OTHERS = [None, True, 0, -1.5, 10**400, "", "x", [], [5], {}, {"a": 5}, float("nan")]
"""Data of every type; something of it is wrong everywhere."""


@dataclass(frozen=True)
class Peak:
    """A number that may be missing."""

    peak: float | None


NUMBERED = [partial(Draw, number) for number in range(60)]
every_kind = pytest.mark.parametrize("kind", FILES)


def drawn(kind: Any) -> Iterator[tuple[Draw, Any]]:
    """Yield values of a kind as the data of their files, each with what chooses more."""
    for new in NUMBERED:
        draw = new()
        yield draw, json.loads(encoded(draw.value(kind)))


def spelled(data: Any) -> bytes:
    """Return data as canonical JSON, whatever it is."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def beat(**changes: Any) -> bytes:
    """Return a heartbeat with other data."""
    return spelled(json.loads(encoded(BEAT)) | changes)


class TestRoundTrip:
    @every_kind
    def test_every_value_is_read_as_it_was_written(self, kind: Any) -> None:
        for draw in NUMBERED:
            value = draw().value(kind)
            assert decoded(kind, encoded(value)) == value

    def test_it_is_canonical_json_of_one_schema_without_what_is_as_by_default(self) -> None:
        assert encoded(BEAT) == (
            b'{"at":"2026-11-30T20:00:00Z","controller":"0.1.0","main":"c0ffee","schema":1,'
            b'"workspace":"local:here"}\n'
        )
        order = Order("stop", NOW, "it diverges", "@ada")
        assert json.loads(encoded(order)).keys() == {"schema", "what", "at", "reason", "by"}

    def test_a_whole_number_of_hours_is_written_as_every_other(self) -> None:
        account = replace(ACCOUNT, granted=1000, reserved=960, used=0)
        assert decoded(Account, encoded(account)) == account
        assert encoded(account) == encoded(replace(account, granted=1000.0, reserved=960.0))

    def test_so_is_one_that_may_be_missing(self) -> None:
        for peak, said in ((78, b'"peak":78.0'), (None, b'"peak":null')):
            content = encoded(Peak(peak))
            assert said in content
            assert decoded(Peak, content) == Peak(peak)

    def test_a_time_elsewhere_is_written_in_utc(self) -> None:
        there = NOW.astimezone(timezone(timedelta(hours=2)))
        assert encoded(replace(BEAT, at=there)) == encoded(BEAT)


class TestMutations:
    """What differs by one thing is refused, or it is another value that is spelled just so."""

    @staticmethod
    def refused(kind: Any, content: bytes) -> None:
        with pytest.raises(MalformedError):
            decoded(kind, content)

    @staticmethod
    def another(kind: Any, content: bytes) -> None:
        try:
            value = decoded(kind, content)
        except MalformedError:
            return
        assert encoded(value) == content

    @every_kind
    def test_a_key_more(self, kind: Any) -> None:
        for draw, data in drawn(kind):
            inside = (place for place in nodes(data) if place[:1] != ("evidence",))
            objects = [place for place in inside if isinstance(at(data, place), dict)]
            at(data, draw.choice(objects))["surprise"] = 1
            self.refused(kind, spelled(data))

    @every_kind
    def test_a_key_less(self, kind: Any) -> None:
        for draw, data in drawn(kind):
            place = draw.choice([p for p in nodes(data) if p and isinstance(p[-1], str)])
            del at(data, place[:-1])[place[-1]]
            self.another(kind, spelled(data))

    @pytest.mark.parametrize("key", ["at", "controller", "main", "schema", "workspace"])
    def test_a_key_less_that_is_needed(self, key: str) -> None:
        data = json.loads(encoded(BEAT))
        del data[key]
        self.refused(Heartbeat, spelled(data))

    @every_kind
    def test_another_type(self, kind: Any) -> None:
        for draw, data in drawn(kind):
            place = draw.choice([p for p in nodes(data) if p])
            for other in OTHERS:
                at(data, place[:-1])[place[-1]] = other
                self.another(kind, spelled(data))

    @every_kind
    def test_other_bytes(self, kind: Any) -> None:
        for draw, data in drawn(kind):
            content = bytearray(spelled(data))
            place = draw.randint(0, len(content))
            content[place : place + draw.randint(0, 2)] = draw.randbytes(draw.randint(0, 2))
            self.another(kind, bytes(content))

    @pytest.mark.parametrize(
        "content",
        [
            encoded(ENDED).rstrip(b"\n"),
            encoded(ENDED) + b"\n",
            b" " + encoded(ENDED),
            encoded(ENDED).replace(b",", b", ", 1),
            json.dumps(dict(reversed(json.loads(encoded(ENDED)).items()))).encode() + b"\n",
            encoded(ENDED).replace(b'"nodes":2', b'"nodes":3,"nodes":2', 1),
            encoded(ENDED).replace(b'"nodes":2', b'"nodes":2.0', 1),
            encoded(ENDED).replace(b'"nodes":2', b'"nodes":true', 1),
            encoded(ENDED).replace(b'"gpu_hours":12.5', b'"gpu_hours":1.25e1', 1),
            encoded(ENDED).replace(b'"gpu_hours":960.0', b'"gpu_hours":960', 1),
            encoded(ENDED).replace(b'"exact":true', b'"exact":1', 1),
            encoded(ENDED).replace(b'"schema":1', b'"schema":2', 1),
            encoded(ENDED).replace(b'"schema":1', b'"schema":true', 1),
            encoded(ENDED).decode().encode("utf-16"),
            b"\xef\xbb\xbf" + encoded(ENDED),
        ],
        ids=[
            "no newline",
            "two newlines",
            "a blank before",
            "a blank between",
            "keys in another order",
            "a key twice",
            "a fraction for a whole number",
            "a flag for a number",
            "a number spelled otherwise",
            "a whole number for a fraction",
            "a number for a flag",
            "another schema",
            "a flag for the schema",
            "another encoding",
            "a byte order mark",
        ],
    )
    def test_the_same_spelled_otherwise(self, content: bytes) -> None:
        assert content != encoded(ENDED)
        self.refused(RunRecord, content)

    @pytest.mark.parametrize(
        "time",
        [
            "2026-11-30T20:00:00",
            "2026-11-30T20:00:00+00:00",
            "2026-11-30T22:00:00+02:00",
            "2026-11-30 20:00:00Z",
            "2026-11-30T20:00:00.000Z",
            "2026-W49-1T20:00:00Z",
            "2026-11-30",
            "20261130T200000Z",
            "9999-99-99T20:00:00Z",
            "",
        ],
    )
    def test_a_time_that_is_not_in_utc_or_spelled_otherwise(self, time: str) -> None:
        self.refused(Heartbeat, beat(at=time))

    def test_a_day_that_is_spelled_otherwise(self) -> None:
        for day in ("20270331", "2027-W13-3", "2027-03-31T00:00:00Z", "2027-13-01"):
            content = encoded(ACCOUNT).replace(b"2027-03-31", day.encode())
            self.refused(Account, content)

    @pytest.mark.parametrize("evil", ["NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"'])
    def test_what_nobody_can_write_is_no_value_of_anything(self, evil: str) -> None:
        whole = replace(DECISION, evidence={"a": 1})
        content = encoded(whole).replace(b'{"a":1}', b'{"a":%s}' % evil.encode())
        assert content != encoded(whole)
        self.refused(Decision, content)
        self.refused(Account, encoded(ACCOUNT).replace(b"1000.0", evil.encode()))

    @pytest.mark.parametrize("depth", [300, 500, 900, 100_000])
    def test_brackets_without_end(self, depth: int) -> None:
        deep = b"[" * depth + b"]" * depth
        content = encoded(replace(DECISION, evidence=[])).replace(b'"evidence":[]', b"%s")
        self.another(Decision, content.replace(b"%s", b'"evidence":' + deep))
        self.refused(Heartbeat, deep)

    def test_a_word_that_is_none_of_those_there_are(self) -> None:
        order = encoded(Order("stop", NOW, "why", "@ada"))
        with pytest.raises(MalformedError, match="'start' is none of 'stop', 'max-cancels'"):
            decoded(Order, order.replace(b'"stop"', b'"start"'))


@every_kind
def test_hostile_bytes_are_refused(kind: Any) -> None:
    for draw in NUMBERED:
        hostile = draw().randbytes(60)
        for content in (hostile, hostile.decode("latin-1").encode(), b'{"schema":1,' + hostile):
            with pytest.raises(MalformedError):
                decoded(kind, content)


NO_TIME = "is no time at which anything was written"


class TestReasons:
    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"{", "it is not JSON"),
            (b"\xff", "it is not JSON"),
            (b"[]\n", "it is not of schema 1"),
            (beat(schema=SCHEMA + 1), "it is not of schema 1"),
            (beat(surprise=1), "`Heartbeat` has no `surprise`"),
            (beat(at=5), "5 is not a time"),
            (beat(at="noon"), "'noon' is not a time"),
            (beat(at="0001-01-01T00:00:00Z"), f"'0001-01-01T00:00:00Z' {NO_TIME}"),
            (beat(at="9999-01-01T00:00:00Z"), f"'9999-01-01T00:00:00Z' {NO_TIME}"),
            (beat(at="2026-11-30T20:00:00"), "'2026-11-30T20:00:00' is not a time in UTC"),
            (beat()[:-1], "it is not in its one canonical spelling"),
        ],
    )
    def test_a_refusal_says_why(self, content: bytes, why: str) -> None:
        with pytest.raises(MalformedError) as raised:
            decoded(Heartbeat, content)
        assert str(raised.value) == why

    def test_it_names_what_is_missing(self) -> None:
        with pytest.raises(MalformedError, match="`Heartbeat` lacks `at`"):
            from_data(Heartbeat, {})

    @pytest.mark.parametrize("data", [None, 5, "x", [1], [[]], True])
    def test_what_is_no_object_is_no_value(self, data: Any) -> None:
        with pytest.raises(MalformedError, match="`Heartbeat` is an object"):
            from_data(Heartbeat, data)

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
    def test_a_number_is_finite_also_in_data_that_was_never_bytes(self, number: float) -> None:
        with pytest.raises(MalformedError, match="is not a number with a fraction"):
            from_data(Over, {"state": "Failed", "gpu_hours": number, "exact": False})

    @pytest.mark.parametrize("hours", [1e13, -1e13, 1.7e308])
    def test_no_number_is_so_large_that_sums_of_it_are_none(self, hours: float) -> None:
        with pytest.raises(MalformedError, match="too large"):
            from_data(Over, {"state": "Failed", "gpu_hours": hours, "exact": False})

    def test_a_number_of_hours_has_a_fraction(self) -> None:
        with pytest.raises(MalformedError, match="12 is not a number with a fraction"):
            from_data(Over, {"state": "Failed", "gpu_hours": 12, "exact": False})
