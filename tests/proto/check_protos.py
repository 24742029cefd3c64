#!/usr/bin/env python3
"""The contracts in proto/ only grow, and say what everything in them means.

Compares names, numbers and types with contract.txt beside this, which --update writes anew: it
refuses to where something that is there has changed or gone, as programs of other releases and other
people's depend on it.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRACT = pathlib.Path(__file__).with_name("contract.txt")
Field = descriptor_pb2.FieldDescriptorProto
# Field numbers in descriptor.proto, of which the paths of comments consist.
MESSAGES, ENUMS, SERVICES = 4, 5, 6
FIELDS, NESTED_MESSAGES, NESTED_ENUMS, VALUES, METHODS = 2, 3, 4, 2, 2


def descriptors():
    """Each of our .proto files, with its comments."""
    protos = sorted((ROOT / "proto/sidecall/v1").glob("*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"--proto_path={ROOT / 'proto'}", "--include_source_info",
                        f"--descriptor_set_out={out.name}", *protos], check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file


def type_of(field):
    kind = field.type_name or Field.Type.Name(field.type)[len("TYPE_"):].lower()
    return ("repeated " if field.label == Field.LABEL_REPEATED else "") + kind


def elements(file):
    """(path of its comment, its line in the contract) of everything in a file."""
    def of_enum(path, scope, enum):
        name = f"{scope}.{enum.name}"
        yield path, f"enum {name}"
        for at, value in enumerate(enum.value):
            yield (*path, VALUES, at), f"value {name}.{value.name} = {value.number}"

    def of_message(path, scope, message):
        name = f"{scope}.{message.name}"
        if message.options.map_entry:
            return
        yield path, f"message {name}"
        for at, field in enumerate(message.field):
            yield (*path, FIELDS, at), f"field {name}.{field.name} = {field.number} {type_of(field)}"
        for at, nested in enumerate(message.nested_type):
            yield from of_message((*path, NESTED_MESSAGES, at), name, nested)
        for at, enum in enumerate(message.enum_type):
            yield from of_enum((*path, NESTED_ENUMS, at), name, enum)

    for at, message in enumerate(file.message_type):
        yield from of_message((MESSAGES, at), file.package, message)
    for at, enum in enumerate(file.enum_type):
        yield from of_enum((ENUMS, at), file.package, enum)
    for at, service in enumerate(file.service):
        name = f"{file.package}.{service.name}"
        yield (SERVICES, at), f"service {name}"
        for number, method in enumerate(service.method):
            stream = ["", "stream "]
            yield ((SERVICES, at, METHODS, number),
                   f"method {name}.{method.name} ({stream[method.client_streaming]}"
                   f"{method.input_type}) ({stream[method.server_streaming]}{method.output_type})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="take in what has been added")
    update = parser.parse_args().update
    found, wrong = [], []
    for file in descriptors():
        explained = {tuple(location.path) for location in file.source_code_info.location
                     if location.leading_comments.strip() or location.trailing_comments.strip()}
        for path, line in elements(file):
            found.append(line)
            if path not in explained:
                wrong.append(f"{file.name}: without a comment: {line}")
    known = CONTRACT.read_text().splitlines() if CONTRACT.exists() else []
    wrong += [f"changed or gone, which breaks others: {line}" for line in known
              if line not in found]
    if update and not wrong:
        CONTRACT.write_text("\n".join(sorted(found)) + "\n")
    elif not update:
        wrong += [f"added: run {pathlib.Path(__file__).name} --update: {line}" for line in found
                  if line not in known]
    print("\n".join(wrong) or f"{len(found)} elements are explained and as they were")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
