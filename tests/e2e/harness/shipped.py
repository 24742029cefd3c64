"""The policies that sidecall comes with (config/policies), for tests that run what each is for."""

import json
from pathlib import Path

POLICIES = Path(__file__).resolve().parents[3] / "config/policies"


def rules(name, **more):
    """The rules of one. `more`: options to add to those of an emulator's rule, by its name."""
    found = json.loads((POLICIES / f"{name}.json").read_text())["rules"]
    for emulator, options in more.items():
        [rule] = [rule for rule in found if rule.get("emulate") == emulator]
        for option, values in options.items():
            rule["options"][option] = rule["options"].get(option, []) + values
    return tuple(found)
