"""The config keys that say where recorded conversations lie and what is done with them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class CassetteKeys(BaseModel):
    """The keys; a part of the config block."""

    cassettes: str | None = Field(
        None,
        description="Folder of recorded conversations, relative to the config file's folder. "
        "LOBU_CASSETTES wins over it.",
    )
    # False: what some readers of YAML make of an "off" without quotes.
    cassette_mode: Literal["off", "record", "replay", "auto", False] = Field(
        "off",
        description="record: talk to the gateway and write one cassette a row. replay: answer from "
        "the cassettes, without gateway, token or network; a row without one is an error. auto: "
        "where the variable CI is set, replay what has a cassette; all else is live. "
        "LOBU_CASSETTE_MODE wins over it.",
    )
    cassette_set: str | None = Field(
        None,
        description="Folder below 'cassettes', to keep apart e.g. what staging and production "
        "said.",
    )
    cassette_speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None,
        description="Replay in the recorded time divided by this: 1 for a demo. Unset, nothing is "
        "waited for, and the row tells the recorded times all the same.",
    )
    cassette_redact: list[Annotated[str, Field(pattern=r"\S")]] = Field(
        default_factory=list,
        description="What else to mask in cassettes: regular expressions, and JSON paths such as "
        "$.input.email or $..password. Tokens and header values always are.",
    )
