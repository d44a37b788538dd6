"""The named resources and requirement sets of a document, and the needs that come of tasks naming them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rainbow_protocol import limits
from rainbow_protocol.jobspec.commands import NOTHING, Surroundings, environment_of, surroundings_of
from rainbow_protocol.jobspec.place import Place
from rainbow_protocol.jobspec.requirements import requirements_of
from rainbow_protocol.jobspec.trees import NEXTGEN, resource_of
from rainbow_protocol.resources import Need, Requirement, Resource

Requirements = list[Requirement]
Forest = list[Resource]


@dataclass(frozen=True, slots=True)
class Named:
    resource: Resource
    surroundings: Surroundings
    scheduled: bool


@dataclass(slots=True)
class Wanted:
    """One allocation that tasks ask for: any of the forests, with any of the sets of requirements."""

    place: Place
    forests: list[Forest]
    requires: list[Requirements]
    surroundings: Surroundings = NOTHING


@dataclass
class Pool:
    named: dict[str, Named] = field(default_factory=dict)
    sets: dict[str, tuple[Place, Requirements]] = field(default_factory=dict)
    whole: Requirements = field(default_factory=list)  # what is required of the whole job
    wanted: list[Wanted] = field(default_factory=list)
    _used: set[str] = field(default_factory=set)

    # --- what the document defines ---

    def define_resources(self, place: Place) -> None:
        for name, one in place.entries().items():
            self.named[name] = _named(one)
        if not self.named:
            raise place.wrong("must name at least one resource")

    def define_requirements(self, place: Place) -> None:
        """Named lists, for tasks to refer to; or requirements themselves, without a name, for the whole job."""
        if isinstance(place.value, list):
            self.whole += requirements_of(place)
            return
        entries = place.entries()
        plain = {name: one.value for name, one in entries.items() if not isinstance(one.value, list)}
        if plain:
            self.whole += requirements_of(Place(plain, place.path, place.remarks))
        for name, one in entries.items():
            if name not in plain:
                self.sets[name] = (one, requirements_of(one))

    # --- what tasks refer to ---

    def forests_of(self, place: Place | None, asking: Place) -> tuple[list[Forest], Surroundings, list[str]]:
        """The alternatives that a task's `resources` names, how things are around them, and the names."""
        if place is None:
            if len(self.named) != 1:
                there = ", ".join(list(self.named)[:20])
                raise asking.wrong(f"must say which `resources` it runs on; there are: {there}")
            return self._alternatives([list(self.named)], asking)
        if isinstance(place.value, dict):  # not named at all, but written where it is used
            inline = _named(place)
            return [[inline.resource]], inline.surroundings, []
        options: list[list[str]] = [[]]
        for one in place.one_or_many():  # a list means all of them, and each of them may be a choice
            choices = [_parts(option, r"[,&]") for option in _parts(one.text(), r"\|")]
            options = [[*before, *choice] for before in options for choice in choices]
            if len(options) > limits.ALTERNATIVES_MAX:
                raise place.wrong(f"has more than {limits.ALTERNATIVES_MAX} alternatives")
        return self._alternatives(options, place)

    def _alternatives(self, options: list[list[str]], place: Place) -> tuple[list[Forest], Surroundings, list[str]]:
        for name in (name for option in options for name in option):
            if name not in self.named:
                there = ", ".join(list(self.named)[:20]) or "none"
                raise place.wrong(f"{name[:80]!r} names no resources; there are: {there}")
        if not options or not all(options):
            raise place.wrong("names no resources")
        around = NOTHING
        for name in options[0]:
            around = around.within(self.named[name].surroundings)
        names = [name for option in options for name in option]
        return [[self.named[name].resource for name in option] for option in options], around, names

    def requirements_of(self, place: Place | None) -> list[Requirements]:
        """The alternatives; a text refers to sets by name, everything else says what is required itself."""
        if place is None:
            return [[]]
        texts = [one for one in place.one_or_many() if isinstance(one.value, str)]
        if not texts or len(texts) < len(place.one_or_many()):
            return [requirements_of(place)]
        options: list[Requirements] = [[]]
        for one in texts:
            choices = [
                [requirement for name in _parts(option, r"[,&]") for requirement in self._set(one, name)]
                for option in _parts(one.text(), r"\|")
            ]
            options = [[*before, *choice] for before in options for choice in choices]
            if len(options) > limits.ALTERNATIVES_MAX:
                raise place.wrong(f"has more than {limits.ALTERNATIVES_MAX} alternatives")
        return options

    def _set(self, place: Place, name: str) -> Requirements:
        if name not in self.sets:
            there = ", ".join(list(self.sets)[:20]) or "none"
            raise place.wrong(f"{name[:80]!r} names no requirements; there are: {there}")
        self._used.add(name)
        return self.sets[name][1]

    def is_scheduled(self, names: Sequence[str]) -> bool:
        """Where some resources say `schedule: true`, the others are only part of what these hold."""
        if not any(one.scheduled for one in self.named.values()):
            return True
        return not names or any(self.named[name].scheduled for name in names)

    def want(self, wanted: Wanted) -> int:
        """The position of that need; tasks that ask for the same share one."""
        for position, other in enumerate(self.wanted):
            if other.forests == wanted.forests and other.requires == wanted.requires:
                return position
        if len(self.wanted) == limits.NEEDS_MAX:
            raise wanted.place.wrong(f"the job asks for more than {limits.NEEDS_MAX} different allocations")
        self.wanted.append(wanted)
        return len(self.wanted) - 1

    # --- what comes of it ---

    def needs(self) -> tuple[list[Need], Requirements]:
        """All needs, and what is required of every node: with one need alone, that is what its tasks require."""
        for name, (place, requirements) in self.sets.items():
            if name not in self._used:
                place.remark("is named by no task or group, so it is required of the whole job")
                self.whole += requirements
        if len(self.wanted) == 1 and len(self.wanted[0].requires) == 1:
            [only] = self.wanted
            return [_need(only.place, only.forests)], self.whole + only.requires[0]
        return [_need(one.place, _requiring(one)) for one in self.wanted], self.whole


def _need(place: Place, forests: list[Forest]) -> Need:
    if len(forests) > limits.ALTERNATIVES_MAX:
        raise place.wrong(f"has more than {limits.ALTERNATIVES_MAX} alternatives")
    return place.built(Need, alternatives=forests)


def _requiring(wanted: Wanted) -> list[Forest]:
    return [
        [_with_requirements(wanted.place, resource, requires) for resource in forest]
        for forest in wanted.forests
        for requires in wanted.requires
    ]


def _with_requirements(place: Place, resource: Resource, requires: Requirements) -> Resource:
    if not requires:
        return resource
    if len(resource.requires) + len(requires) > limits.RESOURCE_CONDITIONS_MAX:
        raise place.wrong(f"a resource has more than {limits.RESOURCE_CONDITIONS_MAX} requirements")
    return resource.model_copy(update={"requires": [*resource.requires, *requires]})


def _named(place: Place) -> Named:
    fields = place.fields()
    attributes, schedule, environment = fields.take("attributes"), fields.take("schedule"), fields.take("environment")
    around = attributes_of(attributes)
    if environment is not None:
        around = Surroundings(environment_of(environment)).within(around)
    resource = whole_node(resource_of(fields, NEXTGEN))
    return Named(resource, around, schedule is not None and schedule.boolean())


def whole_node(resource: Resource) -> Resource:
    """A node at the top of which nothing is asked for is itself what is asked for."""
    if resource.type == "node" and not resource.children and resource.exclusive is None:
        return resource.model_copy(update={"exclusive": True})
    return resource


def attributes_of(place: Place | None) -> Surroundings:
    """Of a resource, a task or a group; also with the `system` that Flux has between."""
    if place is None:
        return NOTHING
    fields = place.fields()
    around = surroundings_of(fields)
    if (system := fields.take("system")) is not None:
        inner = system.fields()
        around = around.within(surroundings_of(inner))
        inner.done()
    fields.unused("is up to whoever submits: --watch", "watch")
    fields.done()
    return around


def _parts(text: str, separators: str) -> list[str]:
    return [part.strip() for part in re.split(separators, text)]
