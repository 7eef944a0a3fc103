"""The stacks that the proofs create."""

import itertools

SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:eureka-AbCdEf"
# Words in capitals stand for what the account has.
CERTIFICATE = "CERTIFICATE"

DOMAIN = {"DomainName": "registry.example.org", "CertificateArn": CERTIFICATE}
EDGE = {"CloudFront": "true", "EdgeCaching": "true", "EdgeDomainName": "edge.example.org", "EdgeCertificateArn": CERTIFICATE}
VPC = {"VpcId": "VPC", "SubnetIds": "SUBNETS", "AllowedCidr": "10.0.0.0/8"}

# What each choice sets. An option's requirements are other choices.
CHOICES = {
    "entry": {
        "http": {"Entry": "http"},
        "url": {"Entry": "url"},
        "alb": {"Entry": "alb", **VPC},
        "public alb": {"Entry": "alb", "LoadBalancerScheme": "internet-facing", **VPC},
    },
    "credentials": {"secret": {"CredentialsSecretArn": SECRET}, "open": {"AnonymousAccess": "true"}},
    "domain": {
        "none": {},
        "domain": DOMAIN,
        "zone": {**DOMAIN, "HostedZoneId": "ZONE"},
        "mutual TLS": {**DOMAIN, "TruststoreUri": "s3://bucket/ca.pem"},
        "mutual TLS, version": {**DOMAIN, "TruststoreUri": "s3://bucket/ca.pem", "TruststoreVersion": "1"},
    },
    "edge": {"none": {}, "own name": EDGE, "CloudFront's name": {"CloudFront": "true"}},
    "encryption": {"owned": {}, "managed": {"TableEncryption": "managed"}},
    "billing": {"on demand": {}, "provisioned": {"LeaseTableBilling": "provisioned"}},
    "alarms": {
        "alarms": {},
        "topic": {"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms"},
        "none": {"Alarms": "false"},
    },
    "deployment": {
        "at once": {},
        "published": {"Deployment": "Published", "Release": "r1"},
        "canary": {"Deployment": "Canary10Percent5Minutes", "Release": "r1"},
    },
    "logs": {"none": {}, "all": {"AccessLog": "true", "AccessLogBucket": "logs", "Tracing": "true"}},
    "capacity": {"shared": {}, "reserved": {"WriteConcurrency": "10", "ReadConcurrency": "10", "EvictConcurrency": "1"}},
    "tables": {"default": {}, "named": {"LeaseTableName": "LEASES", "DeltaTableName": "DELTAS", "PointInTimeRecovery": "true"}},
}


def valid(picks):
    """Whether the template's rules accept a stack of these choices; TestRules has the rules themselves."""
    entry, domain, edge = picks.get("entry", "http"), picks.get("domain", "none"), picks.get("edge", "none")
    if entry == "url" and domain != "none":
        return False
    if entry == "public alb" and "domain" in picks and domain == "none":
        return False
    if entry != "http" and (edge != "none" or domain.startswith("mutual")):
        return False
    if edge != "none" and domain.startswith("mutual"):
        return False
    return not (edge == "CloudFront's name" and picks.get("credentials") == "secret")


# Everything that these choices may be is combined with each other.
FULL = ["entry", "credentials", "domain", "edge", "encryption", "billing", "alarms"]


def combinations():
    """Yields (name, parameters): all valid stacks of FULL, and more until every valid pair of choices occurred."""
    pairs = _pairs()
    for options in itertools.product(*(CHOICES[f] for f in FULL)):
        picks = dict(zip(FULL, options))
        if valid(picks):
            yield _stack(pairs, picks)
    while pairs:
        yield _stack(pairs, dict(min(pairs)))


def _pairs():
    return {
        ((a, x), (b, y))
        for a, b in itertools.combinations(CHOICES, 2)
        for x, y in itertools.product(CHOICES[a], CHOICES[b])
        if valid({a: x, b: y})
    }


def _stack(pairs, picks):
    """Completes a stack so that it covers as many pairs as it can, and takes them away."""
    for factor in CHOICES:
        if factor not in picks:
            options = [o for o in CHOICES[factor] if valid({**picks, factor: o})]
            picks[factor] = max(options, key=lambda o: _covered(pairs, {**picks, factor: o}, factor))
    assert valid(picks), picks
    pairs -= {p for p in pairs if all(picks[f] == o for f, o in p)}
    parameters = {}
    for factor in CHOICES:
        parameters.update(CHOICES[factor][picks[factor]])
    return ", ".join(f"{f}={picks[f]}" for f in CHOICES), parameters


def _covered(pairs, picks, factor):
    return sum(any(f == factor for f, _ in p) and all(picks.get(f) == o for f, o in p) for p in pairs)


# Stacks of containers.yaml, with a subnet for each task.
_CONTAINERS = {
    "Image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/registry:v1",
    "LeaseTableName": "eureka-leases",
    "DeltaTableName": "eureka-deltas",
    "VpcId": "VPC",
    "SubnetA": "SUBNET_A",
    "SubnetB": "SUBNET_B",
    "AllowedCidr": "10.0.0.0/8",
    "AssignPublicIp": "ENABLED",
}
_REPOSITORY = {"ImageRepositoryArn": "arn:aws:ecr:us-east-1:123456789012:repository/registry"}
CONTAINERS = [
    (f"{access}, {spot}, {alarms}, {repository}", {**_CONTAINERS, **a, **s, **w, **r})
    for (access, a), (spot, s), (alarms, w), (repository, r) in itertools.product(
        {"secret": {"CredentialsSecretArn": SECRET}, "open": {"AnonymousAccess": "true"}}.items(),
        {"Fargate": {}, "Spot": {"Spot": "true", "TaskSize": "large"}}.items(),
        {"alarms": {"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms"}, "no alarms": {"Alarms": "false"}}.items(),
        {"ECR": _REPOSITORY, "public image": {}}.items(),
    )
]

# Stacks that between them have every resource, with all that security reviews ask for switched on.
_STRICT = {
    "CredentialsSecretArn": SECRET,
    "PointInTimeRecovery": "true",
    "DeletionProtection": "true",
    "TableEncryption": "managed",
    "LeaseTableBilling": "provisioned",
    "Deployment": "Canary10Percent5Minutes",
    "Release": "r1",
    "AccessLog": "true",
    "AccessLogBucket": "logs",
    "Tracing": "true",
}
REVIEWED = {
    "http": {**_STRICT, **DOMAIN, **EDGE, "HostedZoneId": "ZONE"},
    "url": {**_STRICT, "Entry": "url"},
    "alb": {**_STRICT, **DOMAIN, **VPC, "HostedZoneId": "ZONE", "Entry": "alb"},
}
