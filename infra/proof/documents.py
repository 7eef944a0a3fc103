"""Reads OpenAPI documents with swagger-parser, as API Gateway does when it imports them."""

import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent


def class_path(build):
    """Maven downloads the parser once."""
    path = build / "swagger-parser.classpath"
    if not path.exists():
        command = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:build-classpath", f"-Dmdep.outputFile={path}"]
        subprocess.run(command, check=True)
    return path.read_text()


def messages(documents, build):
    """Returns the parser's messages about documents."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, document in enumerate(documents):
            file = pathlib.Path(folder, f"{number}.json")
            file.write_text(json.dumps(document))
            files.append(file)
        command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", class_path(build), HERE / "Messages.java", *files]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
    return [line.partition("\t")[2] for line in output.splitlines()]
