"""Turns what `minitpu` makes into plain data, and back. Runs beside the student's code; no secret in it.

An operation is a line of LLO, a bundle a list of lines, a machine what `MachineSpec.to_data` gives.
"""


def machine(data):
    """A `MachineSpec` of the student's package from data."""
    from minitpu.isa import MachineSpec

    return MachineSpec.from_data(data)


def program(data):
    """A `Program` of the student's package from data."""
    from minitpu.llo import Program

    return Program.from_data(data)


def steps(data):
    """A tile program of the student's package from data."""
    from minitpu.tiles import Step

    return [Step(name, out, tuple(inputs), number) for name, out, inputs, number in data]


def lines(bundles):
    """Bundles as lists of lines."""
    return [[str(operation) for operation in bundle] for bundle in bundles]


def edges(graph):
    """The edges of a dependence graph as triples."""
    return [[int(before), int(after), int(distance)] for before, after, distance in graph]


def chip(data):
    """A `Chip` of the student's package from data."""
    from minitpu.chips import Chip

    return Chip(**data)
