"""Jobspec, the next generation: named resources, requirement sets, tasks, and groups of tasks that share them."""

from dataclasses import dataclass, field

from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest
from rainbow_protocol.jobspec.commands import NOTHING, Surroundings, command_of, for_the_whole_job
from rainbow_protocol.jobspec.counts import task_count_of
from rainbow_protocol.jobspec.fitting import why_never_within
from rainbow_protocol.jobspec.flux import check_version
from rainbow_protocol.jobspec.order import check_groups, check_order
from rainbow_protocol.jobspec.place import Fields, Place
from rainbow_protocol.jobspec.pool import Forest, Pool, Requirements, Wanted, attributes_of
from rainbow_protocol.jobspec.request import Draft
from rainbow_protocol.jobspec.trees import slot_labels, slot_named
from rainbow_protocol.program import Group, Task


def read(place: Place) -> JobRequest:
    fields = place.fields()
    check_version(fields.need("version", "; write `version: 1`"))
    reader = _Reader(Pool())
    reader.pool.define_resources(fields.need("resources"))
    if (requires := fields.take("requires")) is not None:
        reader.pool.define_requirements(requires)
    name, attributes = fields.take("name"), fields.take("attributes")
    tasks, groups = fields.take("tasks"), fields.take("groups")
    fields.done()
    if groups is not None:
        reader.define_groups(groups)
    program = reader.top(place, tasks.items() if tasks is not None else [])
    needs, required = reader.pool.needs()
    if not needs:
        raise place.wrong("no task runs on resources with `schedule: true`, so that nothing would be asked for")
    return Draft(
        place,
        needs,
        program,
        groups=[reader.groups[one] for one in reader.outlines],
        requires=required,
        surroundings=for_the_whole_job(place, attributes_of(attributes), reader.durations),
        name=name.text() if name is not None else None,
    ).request()


@dataclass
class _Outline:
    """A group before its tasks are read, because they may name groups that come later."""

    place: Place
    fields: Fields
    tasks: list[Place]
    within: list[str]  # the groups that are defined in it
    depends_on: list[str]

    @property
    def uses(self) -> list[str]:
        return [*_groups_named(self.tasks), *self.within]


@dataclass(frozen=True, slots=True)
class _Around:
    """What a task or a group finds where it stands: nothing at the top."""

    surroundings: Surroundings = NOTHING
    forests: list[Forest] | None = None  # of the group


@dataclass
class _Reader:
    pool: Pool
    outlines: dict[str, _Outline] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)  # groups that a task names
    durations: list[float | None] = field(default_factory=list)  # of what is scheduled by itself

    def define_groups(self, place: Place) -> list[str]:
        names = []
        for position, one in enumerate(place.items()):
            fields = one.fields()
            given = fields.take("name")
            name = given.text() if given is not None else f"batch-{position}"
            if name in self.outlines:
                raise one.wrong(f"there is another group with the name {name[:80]!r}")
            tasks = fields.need("tasks").items()
            if not tasks:
                raise one.wrong("must have at least one task")
            if len(self.outlines) == limits.PROGRAM_GROUPS_MAX:
                raise one.wrong(f"there are more than {limits.PROGRAM_GROUPS_MAX} groups")
            _check_number(one, tasks)
            outline = _Outline(one, fields, tasks, [], _names(fields.take("depends_on")))
            self.outlines[name] = outline
            names.append(name)
            if (within := fields.take("groups")) is not None:
                outline.within += self.define_groups(within)
        return names

    def top(self, place: Place, tasks: list[Place]) -> list[Task]:
        """What runs at the top: groups that nobody names, and the tasks."""
        _check_number(place, tasks)
        check_groups(place, {name: one.uses for name, one in self.outlines.items()})
        lists = [tasks, *(one.tasks for one in self.outlines.values())]
        self.named = {name for some in lists for name in _groups_named(some)}
        inner = {name for one in self.outlines.values() for name in one.within}
        free = [name for name in self.outlines if name not in self.named | inner]
        found = [self._run(name, _Around()) for name in free]
        found += [self._task(one, _Around()) for one in tasks]
        if not found:
            raise place.wrong("has neither tasks nor groups, so that there is nothing to run")
        check_order(place, found, {name: one.depends_on for name, one in self.groups.items()})
        return found

    def _run(self, name: str, around: _Around) -> Task:
        """A task that stands for a group which no task of the document names."""
        self._group(name, around)
        return Task(group=name, depends_on=self.outlines[name].depends_on)

    def _group(self, name: str, around: _Around) -> None:
        """Reads a group where it is first used."""
        if name in self.groups:
            return
        outline = self.outlines[name]
        fields = outline.fields
        resources, requires = fields.take("resources"), fields.take("requires")
        own = attributes_of(fields.take("attributes"))
        fields.done()
        # What tasks without resources of their own require is required of what the group has.
        inheriting = [one for one in outline.tasks if isinstance(one.value, dict) and not one.value.get("resources")]
        sources = [requires, *(one.at("requires") for one in inheriting if one.value.get("requires") is not None)]
        need, inside = self._need(outline.place, resources, sources, own, around)
        tasks = [self._run(inner, inside) for inner in outline.within if inner not in self.named]
        tasks += [self._task(one, inside) for one in outline.tasks]
        of_groups = {inner: self.groups[inner].depends_on for inner in outline.uses if inner in self.groups}
        check_order(outline.place, tasks, of_groups)
        self.groups[name] = outline.place.built(Group, name=name, need=need, tasks=tasks, depends_on=outline.depends_on)

    def _task(self, place: Place, around: _Around) -> Task:
        fields = place.fields()
        name, replicas = fields.take("name"), fields.take("replicas")
        parts = {
            "name": name.text() if name is not None else None,
            "depends_on": _names(fields.take("depends_on")),
            "replicas": replicas.integer(1, limits.REPLICAS_MAX) if replicas is not None else 1,
        }
        if (group := fields.take("group")) is not None:
            if group.text() not in self.outlines:
                there = ", ".join(list(self.outlines)[:20]) or "none"
                raise group.wrong(f"{group.text()[:80]!r} names no group; there are: {there}")
            fields.done()
            self._group(group.text(), around)
            return place.built(Task, group=group.text(), **parts)
        command = command_of(fields.need("command", ", and it names no group either"))
        resources, requires = fields.take("resources"), fields.take("requires")
        slot, count = fields.take("slot"), fields.take("count")
        own = attributes_of(fields.take("attributes"))
        fields.unused("this task is started like the others; not used", "local")
        fields.unused("staging files and the like is not known here; not used", "steps")
        fields.done()
        inherits = around.forests is not None and resources is None
        need, inside = self._need(place, resources, [] if inherits else [requires], own, around)
        labels = slot_labels(place, (inside.forests or [[]])[0])
        return place.built(
            Task,
            command=command,
            need=need,
            slot=slot_named(slot, labels) if slot is not None else None,
            count=task_count_of(count) if count is not None else None,
            env=inside.surroundings.env,
            cwd=inside.surroundings.cwd,
            **parts,
        )

    def _need(
        self, place: Place, resources: Place | None, requires: list[Place | None], own: Surroundings, around: _Around
    ) -> tuple[int | None, _Around]:
        """The position of the need, if there is one of its own; and what those within it find."""
        options: list[Requirements] = [[]]
        for source in requires:
            choices = self.pool.requirements_of(source)
            options = [[*before, *choice] for before in options for choice in choices]
            if len(options) > limits.ALTERNATIVES_MAX:
                raise place.wrong(f"has more than {limits.ALTERNATIVES_MAX} alternatives")
        surroundings = own.within(Surroundings(around.surroundings.env, around.surroundings.cwd))
        if around.forests is not None and own.time_limit_s is not None:
            place.remark("a time limit within a group is not kept; give the group itself one")
        if around.forests is not None and resources is None:
            inside = _Around(surroundings, around.forests)
            return (self.pool.want(Wanted(place, around.forests, options)) if any(options) else None), inside
        forests, outer, names = self.pool.forests_of(resources, place)
        if around.forests is not None and (words := why_never_within(forests, around.forests)):
            raise (resources or place).wrong(f"{words}, so that it could never run there")
        surroundings = own.within(outer.within(Surroundings(around.surroundings.env, around.surroundings.cwd)))
        if around.forests is None:
            self.durations.append(surroundings.time_limit_s)
        inside = _Around(surroundings, forests)
        if not self.pool.is_scheduled(names):
            place.remark("its resources are not scheduled by themselves: it runs in what the others have")
            return None, inside
        return self.pool.want(Wanted(place, forests, options)), inside


def _check_number(place: Place, tasks: list[Place]) -> None:
    if len(tasks) > limits.PROGRAM_TASKS_MAX:
        raise place.wrong(f"has more than {limits.PROGRAM_TASKS_MAX} tasks")


def _names(place: Place | None) -> list[str]:
    return [one.text() for one in place.one_or_many()] if place is not None else []


def _groups_named(tasks: list[Place]) -> list[str]:
    values = [one.value.get("group") for one in tasks if isinstance(one.value, dict)]
    return [value for value in values if isinstance(value, str)]
