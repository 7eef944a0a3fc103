"""Drives the registry at EUREKA_URL with py_eureka_client: two services of one application, the second seen by the first."""
import json
import os
import time
import unittest
import urllib.error

import plain
from service import Service

URL = os.environ["EUREKA_URL"]
APP = "PYTHON-CLIENT"
# How long a change may take to be seen, in seconds: lists are eventually consistent.
PATIENCE = 15


def service(name):
    return Service(
        eureka_server=URL, app_name=APP, instance_id=name, instance_host=f"{name}.example.org",
        instance_ip="192.0.2.40", instance_port=8080, renewal_interval_in_secs=1, duration_in_secs=90,
        metadata={"name": name})


def request(method, suffix=""):
    """What an administrator sends about python-2 without any client."""
    return plain.request(method, f"{URL}/apps/{APP}/python-2{suffix}")


def lease():
    return json.loads(request("GET"))["instance"]["leaseInfo"]


class Story(unittest.TestCase):

    def test_story(self):
        with service("python-1") as self.first:
            self.sees("itself", self.usable, {"python-1"})
            full_fetches = self.first.ask("full_fetches")
            with service("python-2") as self.second:
                self.sees("the other", self.usable, {"python-1", "python-2"})
                self.renews()
                self.changes()
                self.is_overridden()
                self.registers_again()
            self.sees("the other gone", self.usable, {"python-1"})
            self.assertEqual(self.first.ask("full_fetches"), full_fetches, "all this came by deltas")

    def renews(self):
        registered = lease()
        self.sees("a renewal", lambda: lease()["lastRenewalTimestamp"] > registered["lastRenewalTimestamp"], True)

    def changes(self):
        request("PUT", "/metadata?version=2")
        self.sees("metadata", lambda: self.first.ask("usable", APP)["python-2"].get("version"), "2")

        self.second.ask("set_status", "DOWN")
        self.sees("the other down", self.usable, {"python-1"})
        # No status is named here: UNKNOWN is left, and the next heartbeat makes the client register anew.
        self.second.ask("remove_override")
        self.sees("the other up", self.usable, {"python-1", "python-2"})

    def is_overridden(self):
        request("PUT", "/status?value=OUT_OF_SERVICE")
        self.sees("the other out of service", self.usable, {"python-1"})
        self.renews()
        self.assertEqual(self.usable(), {"python-1"})
        request("DELETE", "/status?value=UP")
        self.sees("the other back in service", self.usable, {"python-1", "python-2"})

    def registers_again(self):
        before = lease()["registrationTimestamp"]
        request("DELETE")
        self.sees("a new registration", lambda: self.registered_after(before), True)
        self.sees("the other back", self.usable, {"python-1", "python-2"})

    def registered_after(self, before):
        try:
            return lease()["registrationTimestamp"] > before
        except urllib.error.HTTPError as gone:
            self.assertEqual(gone.code, 404)
            return False

    def usable(self):
        """The ids that the first service would call."""
        return set(self.first.ask("usable", APP))

    def sees(self, what, ask, expected):
        """Waits until a value, asked for again and again, is the expected one."""
        late = time.monotonic() + PATIENCE
        while ask() != expected and time.monotonic() < late:
            time.sleep(0.1)
        self.assertEqual(ask(), expected, what)


if __name__ == "__main__":
    unittest.main()
