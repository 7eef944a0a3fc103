"""Proves, without an AWS account, that the stacks of both templates can be created: prove.py TEMPLATE CONTAINERS BUILD_FOLDER."""

import collections
import json
import pathlib
import sys

import documents
import stacks
from combinations import CONTAINERS, REVIEWED, combinations
from translate import BrokenReference, Stack, translate


def prove(source, build, wanted=None):
    """Returns the faults that were found, and prints what was looked at."""
    faults = collections.Counter()
    template = translate(source, {})
    missing = stacks.missing_types(template)
    stacks.stand_in_for(missing)
    imported, count = {}, 0
    with stacks.Account() as account:
        for name, parameters in wanted or combinations():
            count += 1
            try:
                stack = Stack(template, parameters)
                imported.update({json.dumps(body, sort_keys=True): body for body in stack.bodies().values()})
                faults.update(created(account, stack, parameters))
            except BrokenReference as broken:
                faults[str(broken)] += 1
            except Exception as refused:  # moto raises whatever it stumbles over
                faults[f"moto refuses {name}: {refused!r}"] += 1
    messages = documents.messages(imported.values(), build)
    for message in messages:
        faults[f"swagger-parser about an HTTP API's document: {message}"] += 1
    print(f"{count} stacks created in moto, which lacks these types:")
    print("".join(f"  {kind}\n" for kind in missing), end="")
    print(f"{len(imported)} OpenAPI documents for API Gateway to import, {len(messages)} messages of swagger-parser about them")
    return faults


def created(account, stack, parameters):
    """Yields what a stack did not create."""
    status, resources, _ = account.create(stack.template, parameters)
    if status != "CREATE_COMPLETE":
        yield f"a stack is {status}"
    for name in stack.resources.keys() ^ resources.keys():
        yield f"{name} is in only one of the template and the stack"
    for name, status in resources.items():
        if status != "CREATE_COMPLETE":
            yield f"{name} is {status}"


def main():
    source, containers = (pathlib.Path(name).read_text() for name in sys.argv[1:3])
    build = pathlib.Path(sys.argv[3]).resolve()
    faults = prove(source, build) + prove(containers, build, CONTAINERS)
    for name, parameters in REVIEWED.items():  # for checkov, which looks at one stack at a time
        folder = build / "stacks"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(Stack(translate(source, {}), parameters).reviewed(), indent=1))
    for fault, times in faults.items():
        print(f"{fault} ({times} times)", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
