"""An S3 server for the tests: moto, which verifies signatures and holds each access key to its policy.

    serve.py FILE

Serves on a free port of the loopback until it is ended. Once it is ready, FILE says how to reach it:

- `endpoint` and `bucket`
- `program`: an access key with the policy in docs/operations.md, for the prefix `attachments`
- `owner`: an access key that may do everything, with which the tests look at what is in the bucket
"""

import json
import os
import pathlib
import re
import sys
import threading
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

OPERATIONS = pathlib.Path(__file__).parents[2] / "docs" / "operations.md"
REGION = "eu-central-1"
BUCKET = "bidloop-test"


def documented_policy():
    """The policy that the documentation gives to the program."""
    text = OPERATIONS.read_text()
    policy = json.loads(re.search(r'```json\n(\{"Version": "2012-10-17".*?)```', text, re.DOTALL)[1])
    for statement in policy["Statement"]:
        statement["Resource"] = statement["Resource"].replace("my-bucket", BUCKET).replace("my-prefix", "attachments")
        # moto knows conditions of trust policies alone, and refuses every request under another.
        statement.pop("Condition", None)
    return policy


def access_key(iam, name, policy):
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}


def main():
    ready = pathlib.Path(sys.argv[1])
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    # moto takes any key until it is told to look.
    anybody = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    iam, s3 = (
        boto3.client(service, endpoint_url=endpoint, region_name=REGION, **anybody) for service in ("iam", "s3")
    )
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    everything = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
    access = {
        "endpoint": endpoint,
        "region": REGION,
        "bucket": BUCKET,
        "program": access_key(iam, "program", documented_policy()),
        "owner": access_key(iam, "owner", everything),
    }
    look = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
    urllib.request.urlopen(look).close()
    written = ready.with_suffix(".new")
    written.write_text(json.dumps(access))
    os.replace(written, ready)
    threading.Event().wait()


main()
