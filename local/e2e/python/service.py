"""A service that uses py_eureka_client, in a process of its own.

A process, because the client's heartbeat thread outlives its stop() and would register anew.
"""
import asyncio
import multiprocessing

from py_eureka_client import http_client, logger
from py_eureka_client.eureka_client import EurekaClient

# Nothing may be inherited from the tests: the child starts like any program.
_context = multiprocessing.get_context("spawn")


class Service:
    """Starts the child on entry, stops its client on exit, and passes questions on to it."""

    def __init__(self, **settings):
        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(target=_run, args=(theirs, settings), daemon=True)

    def __enter__(self):
        self._process.start()
        return self

    def __exit__(self, *_):
        self._pipe.send(("stop",))
        self._process.join(timeout=10)
        if self._process.exitcode != 0:
            self._process.kill()
            raise RuntimeError("the service did not stop by itself")

    def ask(self, question, *args):
        """Lets the child call the method of _Answers that the question names."""
        self._pipe.send((question, *args))
        if not self._pipe.poll(timeout=10):
            raise TimeoutError(question)
        return self._pipe.recv()


class _Recorder(http_client.HttpClient):
    """Remembers what was fetched, to tell full lists from deltas."""

    def __init__(self):
        self.fetched = []

    async def urlopen(self, request=None, data=None, timeout=None):
        if isinstance(request, str):
            self.fetched.append(request)
        return await super().urlopen(request, data, timeout)


class _Answers:
    """What the tests may ask."""

    def __init__(self, client, recorder):
        self._client, self._recorder = client, recorder

    def usable(self, app):
        """Metadata of each instance that is UP, by id."""
        instances = self._client.applications.get_application(app).up_instances
        return {instance.instanceId: instance.metadata for instance in instances}

    def full_fetches(self):
        return sum(url.endswith("/apps/") for url in self._recorder.fetched)

    def set_status(self, status):
        asyncio.run(self._client.status_update(status))

    def remove_override(self):
        asyncio.run(self._client.delete_status_override())


def _run(pipe, settings):
    logger.set_level("ERROR")
    recorder = _Recorder()
    http_client.set_http_client(recorder)
    client = EurekaClient(**settings)
    asyncio.run(client.start())
    answers = _Answers(client, recorder)
    for question, *args in iter(pipe.recv, ("stop",)):
        pipe.send(getattr(answers, question)(*args))
    asyncio.run(client.stop())
