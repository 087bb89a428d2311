"""What a command leaves out of its input, said on standard error: what reading lost, and what an output cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from osteon.core.asset import Asset

__all__ = ["say_lost"]


def say_lost(asset: Asset, *outputs: str, quiet: bool = False) -> None:
    """One line for each loss."""
    from osteon.io.models import note_lost_sets

    lost = [*asset.origin.lost, *(note for path in outputs for note in note_lost_sets(asset, path))]
    for said in [] if quiet else lost:
        click.echo(f"osteon: note: {said}", err=True)
