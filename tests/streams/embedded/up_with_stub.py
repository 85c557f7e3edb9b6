"""`blastdoor up` with the stub for a worker: `up_with_stub.py READY_FILE WORKERS [OPTION OF THE STUB]…`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from streams.commands.up import run
from streams.embedded.stack import Plan

if __name__ == "__main__":
    ready_file, workers, *worker_options = sys.argv[1:]
    stub = (sys.executable, str(Path(__file__).with_name("stub_worker.py")), *worker_options)
    try:
        run(Plan(workers=int(workers), command=stub), as_json=True, ready_file=Path(ready_file))
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
