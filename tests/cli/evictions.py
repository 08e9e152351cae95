"""An API server whose pods are evicted and replaced at once."""

import copy

from tests.apiserver import ApiServer, Behavior, Json, Request, refuse, respond

SUFFIX = "/eviction"


class EvictingServer:
    """
    Answers evictions for an API server: the pod goes, and a ready one is on another node.

    Attributes:
        evicted: Names of the evicted pods.
        nodes: The nodes of the replacements, in turn.
        refuses: Whether evictions are refused.
    """

    def __init__(self, server: ApiServer, *nodes: str) -> None:
        self.evicted: list[str] = []
        self.nodes, self.refuses = list(nodes), False
        self._server = server
        server.faults.append(self.answer)

    def answer(self, request: Request) -> Behavior:
        """Answer an eviction; leave other requests alone."""
        if request.method != "POST" or not request.path.endswith(SUFFIX):
            return None
        if self.refuses:
            return refuse("forbidden: no")
        path = request.path.removesuffix(SUFFIX)
        pod = copy.deepcopy(self._server.objects[path])
        self._server.delete(path)
        self._server.add(self._replace(pod))
        return respond({"kind": "Status", "status": "Success"}, 201)

    def _replace(self, pod: Json) -> Json:
        metadata = pod["metadata"]
        self.evicted.append(metadata["name"])
        metadata["name"] = metadata["uid"] = f"new-{len(self.evicted)}"
        pod["spec"]["nodeName"] = self.nodes.pop(0)
        return pod
