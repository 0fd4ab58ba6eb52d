"""`memoryd schema`: the protocol as JSON Schema files, for authors of clients."""

from argparse import Namespace

from server.cli.attach import absolute
from server.cli.render import told
from server.errors import CommandFailed


def run(arguments: Namespace) -> int:
    """Write or check the exported files."""
    from protocol.export import differing, write_schemas

    folder = absolute(arguments.out)
    if arguments.action == "write":
        written = write_schemas(folder)
        told([f"{len(written)} schema files are in {folder}"])
        return 0
    different = differing(folder)
    if different:
        raise CommandFailed(
            f"{len(different)} files differ from the protocol, first {different[0]}; run "
            "`memoryd schema write`"
        )
    told([f"the files in {folder} are those of the protocol"])
    return 0
