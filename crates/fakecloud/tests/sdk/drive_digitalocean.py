"""Drives the emulator with DigitalOcean's own Python client.

Usage: drive_digitalocean.py http://127.0.0.1:PORT

Expects droplets 1 and 2 in nyc3, 3 in fra1, and an action time well under a second. Ends with exit code 0 and the line
"ok", or with a traceback.
"""

import json
import signal
import sys
import time
import urllib.request

from azure.core.pipeline.policies import HeadersPolicy
from pydo import Client
from pydo.exceptions import HttpResponseError

URL = sys.argv[1]
# The client refuses to send a bearer token over plain HTTP, so the header is set by a policy of our own. It also
# retries 429 by itself, which would hide it.
client = Client(
    token="unused",
    endpoint=URL,
    authentication_policy=HeadersPolicy({"Authorization": "Bearer secret"}),
    retry_total=0,
)


def steer(method, path, body=None):
    """Speaks to the emulator beside its API."""
    request = urllib.request.Request(
        f"{URL}/_fake/{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def refused(status, call):
    """The error of a call that must be refused with this status."""
    try:
        call()
    except HttpResponseError as error:
        assert error.status_code == status, (error.status_code, error)
        return error
    raise AssertionError(f"not refused with {status}")


def wait(action):
    """Polls an action until it is over, as users of the client do."""
    while action["status"] == "in-progress":
        time.sleep(0.05)
        action = client.actions.get(action_id=action["id"])["action"]
    assert action["status"] == "completed", action
    assert action["completed_at"], action
    return action


def holder(ip):
    droplet = client.reserved_ips.get(reserved_ip=ip)["reserved_ip"]["droplet"]
    return droplet and droplet["id"]


def assign(ip, droplet):
    body = {"type": "assign", "droplet_id": droplet}
    return client.reserved_ips_actions.post(reserved_ip=ip, body=body)["action"]


def addresses():
    """All pages, one address a page."""
    found, page = [], 1
    while True:
        answer = client.reserved_ips.list(per_page=1, page=page)
        found += [item["ip"] for item in answer["reserved_ips"]]
        if "next" not in answer["links"].get("pages", {}):
            assert answer["meta"]["total"] == len(found)
            return found
        page += 1


def reserved_ips():
    created = client.reserved_ips.create(body={"region": "nyc3"})
    free = created["reserved_ip"]["ip"]
    assert created["reserved_ip"]["droplet"] is None
    created = client.reserved_ips.create(body={"droplet_id": 1})
    held = created["reserved_ip"]["ip"]
    assert created["reserved_ip"]["locked"] is True
    link = created["links"]["actions"][0]
    assert link["rel"] == "assign_ip", link
    wait({"id": link["id"], "status": "in-progress"})
    assert holder(held) == 1
    assert sorted(addresses()) == sorted([free, held])

    wait(assign(held, 2))
    assert holder(held) == 2
    error = refused(422, lambda: assign(held, 2))
    assert error.reason == "Unprocessable Entity", error.reason
    assert error.response.json()["id"] == "unprocessable_entity"
    refused(422, lambda: assign(free, 3))
    wait(assign(free, 1))
    listed = client.reserved_ips_actions.list(reserved_ip=held)["actions"]
    assert [action["type"] for action in listed] == ["assign_ip", "assign_ip", "reserve_ip"], listed
    one = client.reserved_ips_actions.get(reserved_ip=held, action_id=listed[0]["id"])
    assert one["action"] == listed[0]

    public = [n["ip_address"] for n in client.droplets.get(droplet_id=2)["droplet"]["networks"]["v4"] if n["type"] == "public"]
    assert public[1] == held, public
    assert client.droplets.list()["meta"]["total"] == 3

    body = {"type": "unassign"}
    wait(client.reserved_ips_actions.post(reserved_ip=held, body=body)["action"])
    assert holder(held) is None
    assert client.reserved_ips.delete(reserved_ip=held) is None
    assert client.reserved_ips.get(reserved_ip=held)["id"] == "not_found"
    assert addresses() == [free]


def reserved_ipv6():
    ip = client.reserved_ipv6.create(body={"region_slug": "nyc3"})["reserved_ipv6"]["ip"]
    assert [item["ip"] for item in client.reserved_ipv6.list()["reserved_ipv6s"]] == [ip]
    body = {"type": "assign", "droplet_id": 2}
    wait(client.reserved_ipv6_actions.post(reserved_ipv6=ip, body=body)["action"])
    assert client.reserved_ipv6.get(reserved_ipv6=ip)["reserved_ipv6"]["droplet"]["id"] == 2
    body = {"type": "unassign"}
    wait(client.reserved_ipv6_actions.post(reserved_ipv6=ip, body=body)["action"])
    assert client.reserved_ipv6.delete(reserved_ipv6=ip) is None


def records(**filters):
    """All pages of the records of example.com, two a page."""
    found, page = [], 1
    while True:
        answer = client.domains.list_records(domain_name="example.com", per_page=2, page=page, **filters)
        found += answer["domain_records"]
        if "next" not in answer["links"].get("pages", {}):
            assert answer["meta"]["total"] == len(found)
            return found
        page += 1


def create(kind, name, data):
    body = {"type": kind, "name": name, "data": data, "ttl": 60}
    return client.domains.create_record(domain_name="example.com", body=body)["domain_record"]


def domains():
    client.domains.create(body={"name": "example.com"})
    made = [create("A", "www", f"192.0.2.{last}") for last in range(1, 6)]
    create("AAAA", "www", "2001:db8::1")
    create("A", "@", "192.0.2.1")
    assert [r["id"] for r in records(name="www.example.com", type="A")] == [r["id"] for r in made]
    assert [r["name"] for r in records(name="example.com", type="A")] == ["@"]
    assert records(name="www") == [], "the filter takes the full name"
    assert len(records(name="www.example.com")) == 6
    # A second record of the same value is a record of its own.
    assert create("A", "www", "192.0.2.1")["id"] != made[0]["id"]
    assert len(records(name="www.example.com", type="A")) == 6

    one = {"domain_name": "example.com", "domain_record_id": made[0]["id"]}
    client.domains.update_record(**one, body={"type": "A", "data": "192.0.2.8"})
    client.domains.patch_record(**one, body={"type": "A", "ttl": 30})
    record = client.domains.get_record(**one)["domain_record"]
    assert (record["name"], record["data"], record["ttl"]) == ("www", "192.0.2.8", 30), record
    assert client.domains.delete_record(**one) is None
    assert client.domains.get_record(**one)["id"] == "not_found"
    refused(422, lambda: create("A", "www", "2001:db8::1"))
    refused(422, lambda: create("CNAME", "www", "example.org."))
    assert client.domains.list_records(domain_name="example.net")["id"] == "not_found"


def too_many_requests():
    steer("POST", "throttle", {"ms": 60_000})
    error = refused(429, lambda: client.account.get())
    assert 1 <= int(error.response.headers["retry-after"]) <= 60
    assert error.response.headers["ratelimit-remaining"] == "0"
    steer("DELETE", "faults")
    assert client.account.get()["account"]["floating_ip_limit"] > 0


signal.alarm(120)
reserved_ips()
reserved_ipv6()
domains()
too_many_requests()
print("ok")
