"""The work of a batch as one command per asset, for render farms: a shell script, a Slurm job array, or an Open Job
Description template, which AWS Deadline Cloud and other farms read.

Every command is `osteon batch asset FOLDER NAME`. It finishes into the ledger of the folder, which all machines must
share; a command for an asset that is finished does nothing, so a farm may try any of them again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from osteon.scale.batch import BatchOptions
from osteon.scale.manifest import Asset

Farm = Literal["openjd", "shell", "slurm"]
#: Values of a parameter that the specification allows; more assets make several steps.
LONGEST_RANGE = 1024
FILES: dict[Farm, str] = {"openjd": "batch.template.json", "shell": "batch.sh", "slurm": "batch.slurm"}


def export_text(farm: Farm, assets: Sequence[Asset], folder: Path, options: BatchOptions, threads: int) -> str:
    """The file of a farm."""
    names, where = [asset.name for asset in assets], str(folder.absolute())
    flags = _flags(options, threads)
    if farm == "openjd":
        return json.dumps(_open_job(names, where, flags, options, threads), indent=2) + "\n"
    return _slurm(names, where, flags, options, threads) if farm == "slurm" else _shell(names, where, flags)


def _flags(options: BatchOptions, threads: int) -> list[str]:
    """Limits of every command, as its flags."""
    flags = ["--quiet", f"--retries={options.retries}"]
    flags += [f"--memory={options.memory}"] if options.memory else []
    flags += [f"--time={options.time:g}"] if options.time else []
    flags += [f"--threads={threads}"] if threads else []
    return flags + (["--retry-failed"] if options.retry_failed else [])


def _shell(names: Sequence[str], where: str, flags: Sequence[str]) -> str:
    """One command per line; `JOBS=4 sh batch.sh` runs four at a time."""
    command = shlex.join(["osteon", "batch", "asset", *flags, where])
    listed = "\n".join(names)
    return (
        "#!/bin/sh\n"
        "# One asset per command, JOBS at a time (default 1). Exit code 0 if all have finished.\n"
        f"tr '\\n' '\\0' <<'END' | xargs -0 -n 1 -P \"${{JOBS:-1}}\" {command}\n{listed}\nEND\n"
    )


def _slurm(names: Sequence[str], where: str, flags: Sequence[str], options: BatchOptions, threads: int) -> str:
    """A job array with one task per asset."""
    lines = ["#!/bin/bash", "#SBATCH --job-name=osteon", f"#SBATCH --array=0-{len(names) - 1}"]
    lines += [f"#SBATCH --cpus-per-task={threads or 1}"]
    lines += [f"#SBATCH --mem={-(-options.memory // 10**6)}M"] if options.memory else []
    lines += ["names=(", *(f"  {shlex.quote(name)}" for name in names), ")"]
    command = shlex.join(["osteon", "batch", "asset", *flags, where])
    return "\n".join([*lines, f'exec {command} "${{names[$SLURM_ARRAY_TASK_ID]}}"', ""])


def _open_job(
    names: Sequence[str], where: str, flags: Sequence[str], options: BatchOptions, threads: int
) -> dict[str, Any]:
    """A job whose tasks are the assets (specification jobtemplate-2023-09)."""
    action: dict[str, Any] = {
        "command": "osteon",
        "args": ["batch", "asset", *flags, "{{Param.Folder}}", "{{Task.Param.Asset}}"],
    }
    needs: list[dict[str, Any]] = [{"name": "amount.worker.vcpu", "min": threads or 1}]
    if options.memory:
        needs.append({"name": "amount.worker.memory", "min": -(-options.memory // 2**20)})  # MiB
    return {
        "specificationVersion": "jobtemplate-2023-09",
        "name": "Osteon batch",
        "parameterDefinitions": [
            {"name": "Folder", "type": "PATH", "objectType": "DIRECTORY", "dataFlow": "INOUT", "default": where}
        ],
        "steps": [
            {
                "name": f"Assets{first // LONGEST_RANGE + 1}",
                "parameterSpace": {
                    "taskParameterDefinitions": [
                        {"name": "Asset", "type": "STRING", "range": list(names[first : first + LONGEST_RANGE])}
                    ]
                },
                "script": {"actions": {"onRun": action}},
                "hostRequirements": {"amounts": needs},
            }
            for first in range(0, len(names), LONGEST_RANGE)
        ],
    }
