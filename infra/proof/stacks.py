"""Creates the translated template as stacks in moto, an in-process imitation of AWS."""

import io
import json
import logging
import os
import warnings
import zipfile

os.environ.update(AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")

import boto3  # noqa: E402
from moto import mock_aws  # noqa: E402
from moto.awslambda.models import LambdaVersion, lambda_backends  # noqa: E402
from moto.cloudformation import parsing  # noqa: E402
from moto.core.common_models import CloudFormationModel  # noqa: E402
from moto.elbv2.models import FakeLoadBalancer  # noqa: E402

warnings.simplefilter("ignore")
logging.getLogger("samtranslator.metrics.metrics").setLevel(logging.ERROR)


class StandIn:
    """A resource of a type that moto's CloudFormation lacks: it has a name and attributes, and nothing checks it."""

    TYPE = ""

    def __init__(self, name):
        self.physical_resource_id = name

    @staticmethod
    def cloudformation_name_type():
        return ""

    @classmethod
    def cloudformation_type(cls):
        return cls.TYPE

    @classmethod
    def has_cfn_attr(cls, attr):
        return True

    def get_cfn_attribute(self, attribute):
        return f"{self.physical_resource_id}.{attribute}"

    @classmethod
    def create_from_cloudformation_json(cls, resource_name, cloudformation_json, account_id, region_name, **kwargs):
        return cls(resource_name)

    @classmethod
    def update_from_cloudformation_json(cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name):
        return original_resource

    @classmethod
    def delete_from_cloudformation_json(cls, resource_name, cloudformation_json, account_id, region_name):
        pass


def create_alias(cls, resource_name, cloudformation_json, account_id, region_name, **kwargs):
    """moto has aliases, but not in its CloudFormation."""
    p = cloudformation_json["Properties"]
    alias = lambda_backends[account_id][region_name].create_alias(p["Name"], p["FunctionName"], p["FunctionVersion"], "", None)
    return cls(alias.arn)


def missing_types(template):
    """The types that moto's CloudFormation does not know."""
    return sorted({r["Type"] for r in template["Resources"].values()} - set(parsing.get_model_map()))


def stand_in_for(types):
    """Registers stand-ins: direct subclasses of moto's model, the only ones that it looks for."""
    for kind in types:
        # moto counts resources by the second part of a module's name.
        members = dict(vars(StandIn), __module__="proof.standin", TYPE=kind)
        del members["__dict__"], members["__weakref__"]
        members["cloudformation_type"] = staticmethod(lambda kind=kind: kind)
        if kind == "AWS::Lambda::Alias":
            members["create_from_cloudformation_json"] = classmethod(create_alias)
        STAND_INS.append(type(CloudFormationModel)(kind.replace("::", ""), (CloudFormationModel,), members))
    for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        cached.cache_clear()


# moto's CloudFormation has versions, but not their one attribute.
LambdaVersion.get_cfn_attribute = lambda self, attribute: {"Version": str(self.version)}[attribute]

# Nor do its load balancers have all of theirs.
FakeLoadBalancer.get_cfn_attribute = lambda self, attribute, known=FakeLoadBalancer.get_cfn_attribute: (
    {"LoadBalancerFullName": self.arn.partition("/")[2], "CanonicalHostedZoneID": "Z1"}.get(attribute) or known(self, attribute)
)

# Python forgets a class that nothing refers to.
STAND_INS = []


class Account:
    """An account with what the parameters name: a VPC, a hosted zone, the functions' code."""

    def __init__(self):
        self.mock = mock_aws()

    def __enter__(self):
        self.mock.start()
        s3, ec2 = boto3.client("s3"), boto3.client("ec2")
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.writestr("bootstrap", "")
        s3.create_bucket(Bucket="code")
        s3.put_object(Bucket="code", Key="functions.zip", Body=code.getvalue())
        subnets = [s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]]
        zone = boto3.client("route53").create_hosted_zone(Name="example.org", CallerReference="1")
        self.values = {
            "CERTIFICATE": boto3.client("acm").request_certificate(DomainName="*.example.org")["CertificateArn"],
            "VPC": ec2.describe_vpcs()["Vpcs"][0]["VpcId"],
            "SUBNETS": ",".join(subnets[:2]),
            "SUBNET_A": subnets[0],
            "SUBNET_B": subnets[1],
            "ZONE": zone["HostedZone"]["Id"].split("/")[-1],
        }
        self.cloudformation = boto3.client("cloudformation")
        self.stacks = 0
        return self

    def __exit__(self, *_):
        self.mock.stop()

    def create(self, template, parameters):
        """Creates a stack; returns its status, that of each resource, and the outputs."""
        self.stacks += 1
        name = f"eureka-{self.stacks}"
        values = {**self.values, "LEASES": f"{name}-named-leases", "DELTAS": f"{name}-named-deltas"}
        self.cloudformation.create_stack(
            StackName=name,
            TemplateBody=json.dumps(template),
            Parameters=[{"ParameterKey": k, "ParameterValue": values.get(v, v)} for k, v in parameters.items()],
            Capabilities=["CAPABILITY_IAM"],
        )
        stack = self.cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        resources = {}
        for page in self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=name):
            resources.update({r["LogicalResourceId"]: r["ResourceStatus"] for r in page["StackResourceSummaries"]})
        return stack["StackStatus"], resources, {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}
