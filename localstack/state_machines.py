#!/usr/bin/env python3
"""Runs the state machines of infra/template.yaml on LocalStack, and the functions that they call as processes of this machine.

    eval "$(SERVICES=s3,stepfunctions,sqs,events,iam,sts localstack/start.sh localstack)"
    target/tools/localstack/bin/python localstack/state_machines.py target/debug FOLDER

builds a vault from the notes in FOLDER, compacts it, and prints what came of it as JSON. LocalStack interprets the definitions as they stand: the
distributed map over the plan in S3, the messages of the FIFO queue, the rule over the bucket's events. Only the resource of a call of Lambda,
whose runtime needs Docker, becomes an activity, which is answered here.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import uuid

import boto3
import yaml

TEMPLATE = pathlib.Path(__file__).parent.parent / "infra/template.yaml"
INVOKE = "arn:aws:states:::lambda:invoke"
ROLE = "arn:aws:iam::000000000000:role/state-machine"
BUCKET = "atlas"
WORKERS = 4
LIMIT = 120


class Template(yaml.SafeLoader):
    """CloudFormation's tags become (name, argument)."""


def function(loader, tag, node):
    build = {yaml.ScalarNode: loader.construct_scalar, yaml.MappingNode: loader.construct_mapping}
    deep = build.get(type(node)) or (lambda node: loader.construct_sequence(node, deep=True))
    return (tag, deep(node))


Template.add_multi_constructor("!", function)


def resolved(value, known):
    """The value without functions: references are looked up, as text, which SAM makes of them."""
    match value:
        case dict():
            return {name: resolved(inner, known) for name, inner in value.items()}
        case list():
            return [resolved(inner, known) for inner in value]
        case ("Sub", text):
            return re.sub(r"\$\{(\w+)\}", lambda found: str(known[found[1]]), text)
        case ("Ref" | "GetAtt", name):
            return str(known[name])
    return value


def with_activity(value, activity):
    """The definition with an activity in place of Lambda."""
    if isinstance(value, dict):
        return {name: with_activity(inner, activity) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_activity(inner, activity) for inner in value]
    return activity if value == INVOKE else value


def work(client, activity, programs, environment, failures):
    while True:
        task = client.get_activity_task(activityArn=activity, workerName="process")
        if not task.get("taskToken"):
            continue
        call = json.loads(task["input"])
        command = [programs / call["FunctionName"], json.dumps(call["Payload"])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode == 0:
            answer = json.dumps({"Payload": json.loads(done.stdout)})
            client.send_task_success(taskToken=task["taskToken"], output=answer)
        else:
            failures.append(done.stderr)
            client.send_task_failure(taskToken=task["taskToken"], error="Failed", cause=done.stderr[-2000:])


def received(queue, url):
    """The next message within the limit, which is then deleted."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = queue.receive_message(QueueUrl=url, WaitTimeSeconds=2, AttributeNames=["All"]).get("Messages", [])
        for message in found:
            queue.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            return message
    sys.exit("no message came")


def main():
    programs, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    client = lambda name: boto3.client(name, region_name="us-east-1")
    states, queue, store, events = client("stepfunctions"), client("sqs"), client("s3"), client("events")
    tag = uuid.uuid4().hex[:8]
    vault = f"vault-{tag}"
    fifo = {"FifoQueue": "true", "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
    url = queue.create_queue(QueueName=f"{tag}.fifo", Attributes=fifo)["QueueUrl"]
    known = {
        "Bucket": BUCKET, "CompactQueue": url, "BuilderConcurrency": WORKERS, "VaultId": vault,
        "BuilderFunction.Arn": "builder", "PublishFunction.Arn": "publish",
    }
    resources = yaml.load(TEMPLATE.read_text(), Template)["Resources"]
    activity = states.create_activity(name=tag)["activityArn"]

    def machine(name, kind):
        definition = with_activity(resolved(resources[name]["Properties"]["Definition"], known), activity)
        return states.create_state_machine(
            name=f"{name}-{tag}", definition=json.dumps(definition), roleArn=ROLE, type=kind)["stateMachineArn"]

    environment = os.environ | {
        "ATLAS_STORE": f"s3://{BUCKET}", "ATLAS_SOURCE": f"s3://{BUCKET}/sources", "ATLAS_SHARD_BYTES": "4096", "ATLAS_LOG": "warn",
    }
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            store.upload_file(str(path), BUCKET, f"sources/{vault}/{path.relative_to(folder)}")

    # The build.
    failures = []
    for _ in range(WORKERS):
        arguments = (client("stepfunctions"), activity, programs, environment, failures)
        threading.Thread(target=work, args=arguments, daemon=True).start()
    execution = states.start_execution(stateMachineArn=machine("BuildMachine", "STANDARD"), input="{}")["executionArn"]
    end = time.monotonic() + LIMIT
    while (found := states.describe_execution(executionArn=execution))["status"] == "RUNNING" and time.monotonic() < end:
        time.sleep(0.5)
    if found["status"] != "SUCCEEDED":
        sys.exit(f"the build is {found['status']}: {found.get('error')} {found.get('cause')} {failures}")
    after_build = received(queue, url)

    # The rule over manifests, and the machine that it starts.
    rule = resources["CompactMachine"]["Properties"]["Events"]["Generations"]["Properties"]["Pattern"]
    store.put_bucket_notification_configuration(Bucket=BUCKET, NotificationConfiguration={"EventBridgeConfiguration": {}})
    events.put_rule(Name=tag, EventPattern=json.dumps(resolved(rule, known)))
    target = {"Id": "machine", "Arn": machine("CompactMachine", "EXPRESS"), "RoleArn": ROLE}
    events.put_targets(Rule=tag, Targets=[target])
    other = f"other-{tag}"
    for generation in (199, 200):
        store.put_object(Bucket=BUCKET, Key=f"vaults/{other}/manifests/{generation:020}", Body=b"{}")
    after_write = received(queue, url)
    store.delete_object(Bucket=BUCKET, Key=f"vaults/{other}/manifests/{200:020}")

    # The compaction of the built vault, as the mapping of the queue calls it.
    record = {"messageId": after_build["MessageId"], "body": after_build["Body"], "attributes": after_build["Attributes"]}
    event = json.dumps({"Records": [record]})
    compacted = subprocess.run([programs / "compact", event], env=environment, capture_output=True, text=True, check=True)
    group = lambda message: message["Attributes"]["MessageGroupId"]
    print(json.dumps({
        "vault": vault,
        "published": json.loads(found["output"]),
        "groups": [group(after_build), group(after_write)],
        "is_other": json.loads(after_write["Body"]) == {"vault": other},
        "compacted": json.loads(compacted.stdout),
    }))


if __name__ == "__main__":
    main()
