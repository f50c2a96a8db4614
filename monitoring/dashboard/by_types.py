"""Reads a dashboard into Grafana's types and back, and names every field that is lost or changed on the way."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

# Grafana writes it itself, and its types leave it out.
UNTYPED = {"templating.list.definition"}


def differences(ours, theirs, path=()):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            here = (*path, name)
            if name in theirs:
                yield from differences(value, theirs[name], here)
            elif value not in (None, [], {}, "") and ".".join(here) not in UNTYPED:
                yield f"{'.'.join(here)}: unknown"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for one, other in zip(ours, theirs):
            yield from differences(one, other, path)
    elif ours != theirs:
        yield f"{'.'.join(path)}: {ours!r} becomes {theirs!r}"


def main():
    register_default_plugins()
    with open(sys.argv[1]) as file:
        ours = json.load(file)
    theirs = json.loads(JSONEncoder().encode(Dashboard.from_json(ours)))
    found = sorted(set(differences(ours, theirs)))
    if found:
        sys.exit("\n".join(found))


main()
