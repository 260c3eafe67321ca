"""The attacks, each with its control. A new one is a record here and a payload; see README.md."""

from __future__ import annotations

from attacks import Attack
from attacks.catalogue.on_one_assignment import ON_ONE_ASSIGNMENT
from attacks.catalogue.on_the_machine import ON_THE_MACHINE
from attacks.catalogue.on_the_verdict import ON_THE_VERDICT

ATTACKS: tuple[Attack, ...] = (*ON_THE_VERDICT, *ON_THE_MACHINE, *ON_ONE_ASSIGNMENT)
