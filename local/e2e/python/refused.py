"""Drives the registry at EUREKA_URL, whose password is wrong, with py_eureka_client."""
import asyncio
import io
import logging
import os
import unittest

from py_eureka_client import logger
from py_eureka_client.eureka_client import EurekaClient


class Refused(unittest.TestCase):

    def test_says_so(self):
        said = io.StringIO()
        log = logging.Logger("refused")
        log.addHandler(logging.StreamHandler(said))
        logger.set_custom_logger(log)
        asyncio.run(self.attempt())
        self.assertIn("401 Unauthorized", said.getvalue())

    @staticmethod
    async def attempt():
        """Starts a client, which goes on trying, and stops it."""
        client = EurekaClient(
            eureka_server=os.environ["EUREKA_URL"], app_name="PYTHON-REFUSED", instance_id="python-refused",
            instance_host="python-1.example.org", instance_ip="192.0.2.40", instance_port=8080)
        await client.start()
        await client.stop()
