"""``lobu-provider shard``: cut a suite into parts for several machines."""

from __future__ import annotations

from pathlib import Path

import click

from lobu_provider.cli.common import print_json, say
from lobu_provider.cli.results_options import FILE, ResultsCommand, json_option, print_lines


@click.command(cls=ResultsCommand, short_help="Cut a suite into parts for several machines.")
@click.argument("config", type=FILE)
@click.option(
    "--of", "count", type=click.IntRange(min=1), required=True, metavar="N", help="How many parts."
)
@click.option(
    "--index",
    type=click.IntRange(min=0),
    metavar="I",
    help="Print the I-th part alone, from 0: for a CI matrix or JOB_COMPLETION_INDEX.",
)
@click.option(
    "--tests",
    "given",
    type=click.IntRange(min=1),
    metavar="M",
    help="How many tests the config has, where only promptfoo can read them.",
)
@json_option
def shard(config: Path, count: int, index: int | None, given: int | None, as_json: bool) -> None:
    """Print promptfoo's --filter-range of each of N parts of the tests in CONFIG.

    promptfoo takes the range before it splits lists of texts into tests of their own, so the
    parts are whole tests; those splits only count for the balance. The last part has no end: no
    test can be missed, and `report`, `stats` and `compare` notice when a part is missing.

    \b
    Examples:
      lobu-provider shard promptfooconfig.yaml --of 4
      promptfoo eval $(lobu-provider shard promptfooconfig.yaml --of 4 --index 2) -o shard-2.json

    \b
    Exit codes:
      0  printed
      2  wrong option, a config that cannot be read, or more parts than tests
    """
    from lobu_provider.results.shards import shards_of

    weights = [1] * given if given is not None else _weights(config)
    if index is not None and index >= count:
        raise click.UsageError(f"--index {index} is beyond the last part, {count - 1}.")
    if count > len(weights):
        raise click.UsageError(
            f"{config} has {len(weights)} tests, which cannot be cut into {count} parts: an empty "
            f"part would be a run without rows. Use --of {max(len(weights), 1)} or less."
        )
    shards = shards_of(weights, count)
    shown = shards if index is None else [shards[index]]
    if as_json:
        print_json(
            [
                {
                    "index": shards.index(one),
                    "filterRange": one.filter_range,
                    "tests": one.end - one.start,
                    "rows": one.rows,
                }
                for one in shown
            ]
        )
        return
    print_lines(f"--filter-range {one.filter_range}" for one in shown)
    heaviest, lightest = max(s.rows for s in shards), min(s.rows for s in shards)
    say(f"{len(weights)} tests; {lightest} to {heaviest} rows a part, provider and repeat")


def _weights(path: Path) -> list[int]:
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.results.shards import rows_of_test
    from lobu_provider.structured_file import UnreadableFileError

    try:
        config = read_config(path)
    except UnreadableFileError as error:
        raise click.UsageError(f"{error}. {error.fix}") from None
    if config.not_read or config.data.get("scenarios"):
        what = "scenarios" if config.data.get("scenarios") else config.not_read[0]
        raise click.UsageError(
            f"{path}: only promptfoo can count the tests of {what}. Give their number: --tests M"
        )
    return [rows_of_test(test, config.default_test) for test in config.tests]
