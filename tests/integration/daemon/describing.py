"""What tests of descriptions ask of a daemon, again and again."""

from typing import Any

from tests.integration.daemon.peers import ClientPeer, Cluster, Message, Registrar


async def registered(registrar: Registrar, name: str, document: Any) -> Cluster:
    answer = await registrar.describe(name, document)
    assert answer["type"] == "registered", answer
    return Cluster(name, answer["secret"], answer["token"])


async def satisfied(client: ClientPeer, request: Message) -> tuple[list[Message], list[Message]]:
    answer = await client.ask("satisfy", request=request)
    assert answer["type"] == "satisfy_answer", answer
    return answer["matches"], answer["mismatches"]


def cores(number: int) -> Message:
    return {"command": ["true"], "shape": {"cores_per_task": number}}
