"""Drives the emulator with Cloudflare's own Python client.

Usage: drive_cloudflare.py http://127.0.0.1:PORT

Expects the zones example.com and example.org, empty. Ends with exit code 0 and the line "ok", or with a traceback.
"""

import json
import signal
import sys
import urllib.request

from cloudflare import APIStatusError, Cloudflare

URL = sys.argv[1]
# The client tries 429 and 5xx again by itself, which would hide them.
client = Cloudflare(api_token="secret", base_url=f"{URL}/client/v4", max_retries=0)
records = client.dns.records


def steer(method, path, body=None):
    """Speaks to the emulator beside its API."""
    request = urllib.request.Request(
        f"{URL}/_fake/{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def refused(status, code, call):
    """The error of a call that must be refused with this status and code."""
    try:
        call()
    except APIStatusError as error:
        assert error.status_code == status, (error.status_code, error.body)
        assert [e.code for e in error.errors] == [code], error.body
        return error
    raise AssertionError(f"not refused with {status}")


def zones():
    found = list(client.zones.list(name="example.com"))
    assert [zone.name for zone in found] == ["example.com"], found
    zone = client.zones.get(zone_id=found[0].id)
    assert (zone.id, zone.status, zone.account.name) == (found[0].id, "active", "fakecloud"), zone
    assert sorted(zone.name for zone in client.zones.list()) == ["example.com", "example.org"]
    assert list(client.zones.list(name="example.net")) == []
    refused(404, 7003, lambda: client.zones.get(zone_id="0" * 32))
    return zone.id


def one_by_one(zone):
    made = records.create(
        zone_id=zone, type="A", name="www", content="192.0.2.1", ttl=60, proxied=False, comment="ours"
    )
    assert (made.name, made.content, made.ttl) == ("www.example.com", "192.0.2.1", 60.0), made
    assert (made.proxied, made.comment, made.tags, len(made.id)) == (False, "ours", [], 32), made
    assert records.get(made.id, zone_id=zone) == made
    edited = records.edit(made.id, zone_id=zone, type="A", name="www", content="192.0.2.2", ttl=60)
    assert (edited.content, edited.comment) == ("192.0.2.2", "ours"), edited
    assert edited.created_on == made.created_on and edited.modified_on >= made.modified_on
    updated = records.update(made.id, zone_id=zone, type="A", name="www.example.com", content="192.0.2.3", ttl=1)
    assert (updated.content, updated.comment, updated.ttl) == ("192.0.2.3", None, 1.0), updated
    same = {"zone_id": zone, "type": "A", "name": "www", "content": "192.0.2.3", "ttl": 60}
    refused(400, 81058, lambda: records.create(**same))
    refused(400, 9005, lambda: records.create(**same | {"content": "2001:db8::1"}))
    error = refused(400, 1004, lambda: records.create(**same | {"name": "new", "ttl": 30}))
    assert error.body["errors"][0]["error_chain"][0]["code"] == 9021, error.body
    assert records.delete(made.id, zone_id=zone).id == made.id
    refused(404, 81044, lambda: records.delete(made.id, zone_id=zone))


def listings(zone):
    for last in range(1, 6):
        records.create(zone_id=zone, type="A", name="many", content=f"192.0.2.{last}", ttl=60)
    records.create(zone_id=zone, type="AAAA", name="many", content="2001:db8::1", ttl=60)
    name = {"exact": "many.example.com"}
    # Two a page, all pages.
    found = [r.content for r in records.list(zone_id=zone, name=name, type="A", per_page=2, order="content")]
    assert found == [f"192.0.2.{last}" for last in range(1, 6)], found
    found = records.list(zone_id=zone, name=name, type="AAAA")
    assert [r.content for r in found] == ["2001:db8::1"]
    assert (found.result_info.page, found.result_info.per_page) == (1, 100), found.result_info
    assert list(records.list(zone_id=zone, name={"exact": "many"})) == []


def batches(zone):
    name = {"exact": "many.example.com"}
    ids = {r.content: r.id for r in records.list(zone_id=zone, name=name, type="A")}
    new = {"type": "A", "name": "many.example.com", "ttl": 60, "proxied": False}
    done = records.batch(
        zone_id=zone,
        deletes=[{"id": ids["192.0.2.1"]}],
        patches=[{"id": ids["192.0.2.2"], "content": "192.0.2.1"}],
        puts=[new | {"id": ids["192.0.2.3"], "content": "192.0.2.2"}],
        posts=[new | {"content": "192.0.2.3", "comment": "ours"}],
    )
    assert [r.id for r in done.deletes] == [ids["192.0.2.1"]], done
    assert [r.content for r in done.patches + done.puts + done.posts] == [f"192.0.2.{n}" for n in (1, 2, 3)], done
    bad = [new | {"content": "192.0.2.9"}, new | {"content": "192.0.2.9"}]
    refused(400, 81058, lambda: records.batch(zone_id=zone, posts=bad))
    found = sorted(r.content for r in records.list(zone_id=zone, name=name, type="A"))
    assert found == [f"192.0.2.{last}" for last in range(1, 6)], found


def refusals(zone):
    stranger = Cloudflare(api_token="wrong", base_url=f"{URL}/client/v4", max_retries=0)
    refused(403, 9109, lambda: stranger.zones.get(zone_id=zone))
    steer("POST", "throttle", {"ms": 60_000})
    error = refused(429, 10429, lambda: client.zones.get(zone_id=zone))
    assert 1 <= int(error.response.headers["retry-after"]) <= 60
    assert error.response.headers["ratelimit"].startswith('"default";r=0;t='), error.response.headers
    steer("DELETE", "faults")
    client.zones.get(zone_id=zone)


signal.alarm(120)
zone = zones()
one_by_one(zone)
listings(zone)
batches(zone)
refusals(zone)
print("ok")
