"""The proofs find faults: python -m unittest, in this folder."""

import contextlib
import io
import os
import pathlib
import unittest

import prove
from combinations import CONTAINERS

TEMPLATE = pathlib.Path(__file__).parents[2] / "template.yaml"
BUILD = pathlib.Path(os.environ.get("BUILD", TEMPLATE.parent / ".build")).resolve()
HTTP = [("http", {"AnonymousAccess": "true"})]
DOMAIN = [("domain", {"AnonymousAccess": "true", "DomainName": "registry.example.org", "CertificateArn": "CERTIFICATE"})]
ALB = [("alb", {"AnonymousAccess": "true", "Entry": "alb", "VpcId": "VPC", "SubnetIds": "SUBNETS", "AllowedCidr": "10.0.0.0/8"})]

# An API that is imported from a document, with both faults that make its import fail: SAM makes a server without a
# URL of DisableExecuteApiEndpoint, also where that is false, and the parameter of {proxy+} is not called proxy.
IMPORTED = """
Resources:
  ImportedApi:
    Type: AWS::Serverless::HttpApi
    Properties:
      FailOnWarnings: true
      DisableExecuteApiEndpoint: !If [HasDomain, true, false]
      DefinitionBody:
        openapi: 3.0.1
        info: {title: registry, version: "1"}
        paths:
          /{proxy+}:
            get:
              parameters: [{name: proxy, in: path, required: true, schema: {type: string}}]
              responses: {default: {description: As the API says.}}
"""


class ProofTest(unittest.TestCase):
    def faults(self, wanted, old="", new=""):
        source = TEMPLATE.read_text()
        self.assertIn(old, source)
        with contextlib.redirect_stdout(io.StringIO()):
            return "\n".join(prove.prove(source.replace(old, new, 1), BUILD, wanted))

    def test_template_has_no_faults(self):
        for wanted in HTTP, DOMAIN, ALB:
            self.assertEqual("", self.faults(wanted))

    def test_containers_have_no_faults_and_theirs_are_named(self):
        source = (TEMPLATE.parent / "infra/containers.yaml").read_text()
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertFalse(prove.prove(source, BUILD, CONTAINERS[:1]))
            broken = source.replace("TaskDefinition: !Ref Task", "TaskDefinition: !Ref Nothing", 1)
            self.assertIn("which this stack does not have", "".join(prove.prove(broken, BUILD, CONTAINERS[:1])))

    def test_documents_that_cannot_be_imported_are_named(self):
        for wanted in HTTP, DOMAIN:
            faults = self.faults(wanted, "\nResources:\n", IMPORTED)
            self.assertIn("servers", faults)
            self.assertIn("proxy", faults)

    def test_references_to_what_a_stack_lacks_are_named(self):
        for wanted, old, new in [
            (HTTP, "Target: !Sub \"integrations/${HttpReads}\"", "Target: !Sub \"integrations/${Nothing}\""),
            (ALB, "TargetGroupArn: !Ref WriteTargets", "TargetGroupArn: !Ref Nothing"),
            (HTTP, "Role: !GetAtt WriteRole.Arn", "Role: !GetAtt Nothing.Arn"),
            (HTTP, "Role: !GetAtt WriteRole.Arn", "Role: !GetAtt ApiRole.Arn"),
            (ALB, "DependsOn: WriteTargetsPermission", "DependsOn: Nothing"),
        ]:
            self.assertIn("which this stack does not have", self.faults(wanted, old, new), new)

    def test_what_moto_refuses_is_named(self):
        self.assertIn("moto refuses alb", self.faults(ALB, "Field: http-request-method", "Field: nonsense"))


if __name__ == "__main__":
    unittest.main()
