"""Prints the spans of OTLP requests, read by OpenTelemetry's own definition of the messages, as a list of objects."""

import gzip
import json
import sys

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def plain(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    return getattr(value, kind)


spans = []
for name in sys.argv[1:]:
    request = ExportTraceServiceRequest()
    with open(name, "rb") as file:
        body = file.read()
    request.ParseFromString(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
    for resource in request.resource_spans:
        about = {it.key: plain(it.value) for it in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                shown = MessageToDict(span)
                shown["traceId"] = span.trace_id.hex()
                shown["spanId"] = span.span_id.hex()
                shown["parentSpanId"] = span.parent_span_id.hex()
                shown["attributes"] = {it.key: plain(it.value) for it in span.attributes}
                shown["resource"] = about
                spans.append(shown)
print(json.dumps(spans))
