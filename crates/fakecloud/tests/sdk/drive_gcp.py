"""Drives the emulator with Google's own Python client.

Usage: drive_gcp.py http://127.0.0.1:PORT

Expects machines 1 and 2 in us-central1, 3 in europe-west1, and an action time well under a second. Ends with exit code
0 and the line "ok", or with a traceback.
"""

import json
import signal
import sys
import time
import urllib.request
import uuid

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import BadRequest, Conflict, Forbidden, NotFound
from google.api_core.future.polling import _OperationNotComplete
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import RefreshError
from google.cloud import compute_v1 as compute
from google.oauth2.credentials import Credentials

URL = sys.argv[1]
PROJECT, REGION, ZONE = "test-project", "us-central1", "us-central1-b"


def client(service, token="secret"):
    """A client of a service. It sends the token over plain HTTP, because the endpoint says so."""
    return service(credentials=Credentials(token=token), client_options=ClientOptions(api_endpoint=URL))


instances = client(compute.InstancesClient)
addresses = client(compute.AddressesClient)
zone_operations = client(compute.ZoneOperationsClient)
region_operations = client(compute.RegionOperationsClient)
# To wait for an operation, the client makes another one, which would look for Google itself.
instances.transport._extended_operations_services["zone_operations"] = zone_operations
addresses.transport._extended_operations_services["region_operations"] = region_operations


def steer(method, path, body=None):
    """Speaks to the emulator beside its API."""
    request = urllib.request.Request(
        f"{URL}/_fake/{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def refused(kind, reason, call):
    """The error of a call that must be refused for this reason."""
    try:
        call()
    except kind as error:
        assert [one["reason"] for one in error.errors] == [reason], error.errors
        return error
    raise AssertionError(f"not refused with {kind}")


def finish(operation):
    """Waits for an operation with the client's own means, but more often than once a second."""
    often = Retry(predicate=if_exception_type(_OperationNotComplete), initial=0.05, maximum=0.05, timeout=20)
    operation.result(polling=often)


def access_configs(instance, zone=ZONE):
    shown = instances.get(project=PROJECT, zone=zone, instance=instance)
    assert shown.status == "RUNNING" and shown.id > 2**53, shown
    return list(shown.network_interfaces[0].access_configs)


def add(instance, ip=None, request_id=None):
    config = compute.AccessConfig(name="External NAT", type_="ONE_TO_ONE_NAT")
    if ip:
        config.nat_i_p = ip
    return instances.add_access_config(
        request=compute.AddAccessConfigInstanceRequest(
            project=PROJECT,
            zone=ZONE,
            instance=instance,
            network_interface="nic0",
            access_config_resource=config,
            request_id=request_id,
        )
    )


def remove(instance, name="External NAT"):
    return instances.delete_access_config(
        project=PROJECT, zone=ZONE, instance=instance, network_interface="nic0", access_config=name
    )


def insert(name, request_id=None, region=REGION):
    return addresses.insert(
        request=compute.InsertAddressRequest(
            project=PROJECT,
            region=region,
            request_id=request_id,
            address_resource=compute.Address(name=name, description="ours", address_type="EXTERNAL"),
        )
    )


def address(name):
    return addresses.get(project=PROJECT, region=REGION, address=name)


def reserve():
    # The client waits for the operation by itself.
    for name in ["first", "second", "third"]:
        operation = insert(name)
        assert not operation.done() or operation.error_code == 0
        finish(operation)
    one = address("first")
    assert (one.status, one.address_type, one.network_tier) == ("RESERVED", "EXTERNAL", "PREMIUM"), one
    assert one.kind == "compute#address" and one.description == "ours" and not one.users, one
    refused(Conflict, "alreadyExists", lambda: insert("first"))
    refused(NotFound, "notFound", lambda: address("nobody"))
    refused(BadRequest, "invalid", lambda: insert("Bad"))
    # The same request ID is the same operation.
    request_id = str(uuid.uuid4())
    names = {insert("again", request_id).name for _ in range(2)}
    assert len(names) == 1, names
    finish(insert("again", request_id))
    finish(addresses.delete(project=PROJECT, region=REGION, address="again"))
    finish(insert("far", region="europe-west1"))


def listings():
    names = [one.name for one in addresses.list(project=PROJECT, region=REGION)]
    assert names == ["first", "second", "third"], names
    # One address a page.
    request = compute.ListAddressesRequest(project=PROJECT, region=REGION, max_results=1)
    pages = [[one.name for one in page.items] for page in addresses.list(request=request).pages]
    assert pages == [["first"], ["second"], ["third"]], pages
    request = compute.AggregatedListAddressesRequest(project=PROJECT, max_results=1)
    scoped = {}
    for scope, found in addresses.aggregated_list(request=request):
        scoped.setdefault(scope, []).extend(one.name for one in found.addresses)
    assert scoped == {"global": [], "regions/europe-west1": ["far"], f"regions/{REGION}": names}, scoped
    ip = address("second").address
    for expression, expected in [
        (f'address = "{ip}"', ["second"]),
        (f"address eq {ip}", ["second"]),
        ('(addressType = "EXTERNAL") AND (name = "third")', ["third"]),
        ("name = nobody", []),
    ]:
        request = compute.ListAddressesRequest(project=PROJECT, region=REGION, filter=expression)
        assert [one.name for one in addresses.list(request=request)] == expected, expression
    request = compute.ListAddressesRequest(project=PROJECT, region=REGION, filter="nonsense")
    refused(BadRequest, "invalid", lambda: list(addresses.list(request=request)))
    listed = [one.name for one in instances.list(project=PROJECT, zone=ZONE)]
    assert listed == ["m-1", "m-2"], listed
    found = {
        scope: [one.name for one in scoped.instances] for scope, scoped in instances.aggregated_list(project=PROJECT)
    }
    assert found == {"zones/europe-west1-b": ["m-3"], f"zones/{ZONE}": ["m-1", "m-2"]}, found
    zone = client(compute.ZonesClient).get(project=PROJECT, zone=ZONE)
    region = client(compute.RegionsClient).get(project=PROJECT, region=REGION)
    assert zone.region == region.self_link and zone.self_link in region.zones, (zone, region)


def moves():
    ip = address("first").address
    [own] = access_configs("m-1")
    assert own.type_ == "ONE_TO_ONE_NAT" and own.nat_i_p != ip, own
    error = refused(BadRequest, "badRequest", lambda: add("m-1", ip))
    assert "At most one access config currently supported" in error.message, error
    finish(remove("m-1"))
    assert access_configs("m-1") == []
    finish(add("m-1", ip))
    [config] = access_configs("m-1")
    assert (config.nat_i_p, config.name) == (ip, "External NAT"), config
    shown = address("first")
    assert shown.status == "IN_USE" and [user.rsplit("/", 1)[1] for user in shown.users] == ["m-1"], shown

    # In use: an operation that is done, with an error.
    finish(remove("m-2"))
    operation = add("m-2", ip)
    try:
        finish(operation)
        raise AssertionError("the address is in use")
    except BadRequest as error:
        assert "already being used" in str(error), error
    seen = zone_operations.get(project=PROJECT, zone=ZONE, operation=operation.name)
    assert [one.code for one in seen.error.errors] == ["IP_IN_USE_BY_ANOTHER_RESOURCE"], seen
    assert seen.status == compute.Operation.Status.DONE and seen.http_error_status_code == 400, seen

    # Of another name: done at once, and nothing happens.
    operation = remove("m-1", "no such name")
    assert operation.done()
    finish(operation)
    assert access_configs("m-1")[0].nat_i_p == ip

    finish(remove("m-1"))
    finish(add("m-2", ip))
    assert [user.rsplit("/", 1)[1] for user in address("first").users] == ["m-2"]
    error = refused(
        BadRequest,
        "resourceInUseByAnotherResource",
        lambda: addresses.delete(project=PROJECT, region=REGION, address="first"),
    )
    assert "instances/m-2" in error.message, error
    # The machine that lost the address gets an ephemeral one again.
    finish(add("m-1"))
    assert access_configs("m-1")[0].nat_i_p not in ("", ip)
    finish(remove("m-2"))
    refused(BadRequest, "invalid", lambda: add("m-2", "203.0.113.250"))
    finish(add("m-2"))


def pointers():
    config = compute.AccessConfig(name="External NAT", set_public_ptr=True, public_ptr_domain_name="a.example.com.")
    place = {"project": PROJECT, "zone": ZONE, "instance": "m-1", "network_interface": "nic0"}
    finish(instances.update_access_config(**place, access_config_resource=config))
    assert access_configs("m-1")[0].public_ptr_domain_name == "a.example.com."
    config.nat_i_p = address("first").address
    refused(BadRequest, "invalid", lambda: instances.update_access_config(**place, access_config_resource=config))


def waits():
    operation = addresses.delete(project=PROJECT, region=REGION, address="third")
    deadline = time.monotonic() + 20
    while True:
        seen = region_operations.wait(project=PROJECT, region=REGION, operation=operation.name)
        if seen.status == compute.Operation.Status.DONE:
            break
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
    assert seen.target_link.endswith("/addresses/third") and not seen.error.errors, seen
    refused(NotFound, "notFound", lambda: address("third"))
    refused(
        NotFound,
        "notFound",
        lambda: zone_operations.wait(project=PROJECT, zone=ZONE, operation=operation.name),
    )


def refusals():
    try:
        client(compute.AddressesClient, "wrong").get(project=PROJECT, region=REGION, address="first")
        raise AssertionError("the token is wrong")
    except RefreshError:
        # After a 401 the client wants a new token, which this credential cannot have.
        pass
    steer("PATCH", "knobs", {"denied": ["compute.addresses.list"]})
    error = refused(Forbidden, "forbidden", lambda: addresses.list(project=PROJECT, region=REGION))
    assert error.message.endswith("Required 'compute.addresses.list' permission for 'projects/test-project'"), error
    steer("PATCH", "knobs", {"denied": []})
    steer("POST", "throttle", {"ms": 60_000})
    error = refused(Forbidden, "rateLimitExceeded", lambda: address("first"))
    assert "retry-after" not in error.response.headers
    steer("DELETE", "faults")
    steer("PATCH", "knobs", {"address_limit": 1})
    refused(Forbidden, "quotaExceeded", lambda: insert("over"))
    steer("PATCH", "knobs", {"address_limit": 1000})
    assert address("first").status == "RESERVED"


signal.alarm(120)
reserve()
listings()
moves()
pointers()
waits()
refusals()
print("ok")
