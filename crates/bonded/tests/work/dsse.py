"""Verifies an envelope with a public key, and holds its statement against the receipt beside it."""

import base64
import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

envelope_path, key_path, receipt_path = sys.argv[1:]
lines = open(envelope_path).read().splitlines()
assert len(lines) == 1, "one envelope a line"
written = json.loads(lines[0])
public = load_pem_public_key(open(key_path, "rb").read())
keyid = written["signatures"][0]["keyid"]
key = SSlibKey.from_crypto(public, keyid=keyid)
assert key.scheme == "ed25519", key.scheme

envelope = Envelope.from_dict(json.loads(lines[0]))
accepted = envelope.verify([key], threshold=1)
assert list(accepted) == [keyid], accepted
assert envelope.payload_type == "application/vnd.in-toto+json", envelope.payload_type

statement = json.loads(envelope.payload)
receipt = json.load(open(receipt_path))
assert statement["_type"] == "https://in-toto.io/Statement/v1", statement["_type"]
assert statement["subject"] == [{"name": "tree", "digest": {"blake3": receipt["tree_after"]}}]
assert statement["predicateType"] == "urn:bonded:work-receipt:v1"
assert statement["predicate"]["receipt_hash"] == receipt["receipt_hash"]

payload = bytearray(base64.b64decode(written["payload"]))
payload[len(payload) // 2] ^= 1
written["payload"] = base64.b64encode(bytes(payload)).decode()
try:
    Envelope.from_dict(written).verify([key], threshold=1)
except VerificationError:
    pass
else:
    sys.exit("a changed payload was accepted")
