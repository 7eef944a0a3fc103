"""Turns template.yaml into CloudFormation, as AWS does, and a stack's part of it."""

import os
import re

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

PSEUDO = {"AWS::AccountId", "AWS::Partition", "AWS::Region", "AWS::StackId", "AWS::StackName", "AWS::URLSuffix"}
NO_VALUE = object()


class NoManagedPolicies:
    def load(self):
        return {}


def translate(source, parameters):
    """Returns the CloudFormation template of a stack. Code is where `sam package` would put it."""
    template = yaml_parse(source.replace("!Sub infra/build/${Architecture}", "s3://code/functions.zip"))
    return transform(template, dict(parameters), NoManagedPolicies())


class BrokenReference(Exception):
    pass


class Stack:
    """What a stack has of a template: its conditions decided, its references looked up."""

    def __init__(self, template, parameters):
        self.conditions = template["Conditions"]
        self.parameters = {n: parameters.get(n, p.get("Default", "")) for n, p in template["Parameters"].items()}
        self.names = {n for n, r in template["Resources"].items() if self._exists(r)}
        self.resources = {n: self._decide(template["Resources"][n], n) for n in sorted(self.names)}
        self.outputs = {n: self._decide(o, n) for n, o in template["Outputs"].items() if self._exists(o)}
        self.template = {"Parameters": template["Parameters"], "Resources": self.resources, "Outputs": self.outputs}
        if "Mappings" in template:
            self.template["Mappings"] = template["Mappings"]

    def reviewed(self):
        """The stack with its parameters' values as defaults, for tools that look at a template alone."""
        parameters = {n: {**p, "Default": self.parameters[n]} for n, p in self.template["Parameters"].items()}
        return {"AWSTemplateFormatVersion": "2010-09-09", **self.template, "Parameters": parameters}

    def bodies(self):
        """The OpenAPI documents that API Gateway would import."""
        return {n: r["Properties"]["Body"] for n, r in self.resources.items() if "Body" in r.get("Properties", {})}

    def _exists(self, part):
        return "Condition" not in part or self._holds({"Condition": part["Condition"]})

    def _holds(self, condition):
        (function, args), = condition.items()
        if function == "Condition":
            return self._holds(self.conditions[args])
        if function == "Fn::Equals":
            return self._text(args[0]) == self._text(args[1])
        if function == "Fn::Not":
            return not self._holds(args[0])
        if function == "Fn::And":
            return all(map(self._holds, args))
        if function == "Fn::Or":
            return any(map(self._holds, args))
        raise ValueError(f"conditions have no {function}")

    def _text(self, value):
        return str(self.parameters[value["Ref"]] if isinstance(value, dict) else value)

    def _decide(self, part, where):
        if isinstance(part, list):
            return [v for v in (self._decide(p, where) for p in part) if v is not NO_VALUE]
        if not isinstance(part, dict):
            return part
        if list(part) == ["Fn::If"]:
            condition, yes, no = part["Fn::If"]
            return self._decide(yes if self._holds({"Condition": condition}) else no, where)
        if part == {"Ref": "AWS::NoValue"}:
            return NO_VALUE
        self._look_up(part, where)
        decided = {k: self._decide(v, where) for k, v in part.items() if k != "Condition" or not isinstance(v, str)}
        return {k: v for k, v in decided.items() if v is not NO_VALUE}

    def _look_up(self, part, where):
        if "Ref" in part:
            self._known(part["Ref"], where)
        if "Fn::GetAtt" in part:
            value = part["Fn::GetAtt"]
            self._known(value.split(".")[0] if isinstance(value, str) else value[0], where, attribute=True)
        if "Fn::Sub" in part:
            value = part["Fn::Sub"]
            text, own = (value, {}) if isinstance(value, str) else value
            for name in re.findall(r"\$\{([^!}]+)\}", text):
                if name not in own:
                    self._known(name.split(".")[0], where, attribute="." in name)
        depends = part.get("DependsOn", [])
        for name in [depends] if isinstance(depends, str) else depends:
            self._known(name, where, attribute=True)

    def _known(self, name, where, attribute=False):
        if name in self.names or not attribute and (name in PSEUDO or name in self.parameters):
            return
        raise BrokenReference(f"{where} refers to {name}, which this stack does not have")
