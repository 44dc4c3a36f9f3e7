"""Every rule there is: modules in the folders of a family are found, imported and put in order.

A module of rules is a file in `<family>/<group>/` whose name does not begin with an underscore, so
that one which is not registered cannot happen.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from amqpscope import rules
from amqpscope.rules.catalogue import catalogue
from amqpscope.rules.registry import RULES, Rule


@cache
def modules() -> tuple[str, ...]:
    """The names of all modules with rules."""
    found = []
    for family in pkgutil.iter_modules(rules.__path__, "amqpscope.rules."):
        if family.ispkg:
            groups = pkgutil.walk_packages(import_module(family.name).__path__, f"{family.name}.")
            found += [
                module.name
                for module in groups
                if not module.ispkg and module.name.count(".") == 4 and "._" not in module.name
            ]
    return tuple(sorted(found))


@cache
def load() -> dict[str, Rule]:
    """All rules by id, in the order in which they run: that of the catalogue.

    What a frame is made of comes there before what it means, so that a violation is known before
    its consequences are looked at.
    """
    for module in modules():
        import_module(module)
    place = {id: number for number, id in enumerate(catalogue())}
    ordered = sorted(RULES, key=lambda id: place.get(id, len(place)))
    return {id: RULES[id] for id in ordered}
