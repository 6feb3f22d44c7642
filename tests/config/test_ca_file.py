"""``config.caFile``: a file of certificates, or an error that names it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import certifi
import pytest

from lobu_provider.config.ca_file import find_ca_file
from lobu_provider.config.settings import load_settings
from lobu_provider.errors import ConfigError

PEM = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----")
ONE_CERTIFICATE = PEM[0] + PEM[1] + "\n"


def refusal(folder: Path, name: str) -> str:
    with pytest.raises(ConfigError) as caught:
        find_ca_file(folder, name)
    assert str(caught.value).startswith("[config] config.caFile: ")
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ca.pem").write_text(ONE_CERTIFICATE, encoding="utf-8")
    return tmp_path


def test_a_relative_path_starts_from_the_config_files_folder(folder: Path) -> None:
    config: dict[str, Any] = {"agent": "a", "gateway": "https://h", "basePath": str(folder)}
    found = load_settings({"config": {**config, "caFile": "ca.pem"}})
    assert found.ca_file == folder / "ca.pem"
    assert found.warnings == ()


def test_an_absolute_path_and_several_certificates_are_fine(folder: Path) -> None:
    assert find_ca_file(folder, certifi.where()) == Path(certifi.where())


def test_a_missing_file_is_named_with_the_folder_it_was_looked_for_in(folder: Path) -> None:
    said = refusal(folder, "other.pem")
    assert "'other.pem'" in said
    assert "No such file" in said
    assert str(folder) in said


@pytest.mark.parametrize(
    "content",
    ["", "not PEM", "-----BEGIN RSA PRIVATE KEY-----\ns3cret\n-----END RSA PRIVATE KEY-----"],
)
def test_a_file_without_a_certificate_is_named_and_not_shown(folder: Path, content: str) -> None:
    (folder / "ca.pem").write_text(content, encoding="utf-8")
    said = refusal(folder, "ca.pem")
    assert "holds no '-----BEGIN CERTIFICATE-----'" in said
    assert "s3cret" not in said


def test_a_damaged_certificate_is_told(folder: Path) -> None:
    (folder / "ca.pem").write_text(ONE_CERTIFICATE.replace("M", "!", 40), encoding="utf-8")
    assert "its certificates cannot be read" in refusal(folder, "ca.pem")


def test_a_file_that_was_mended_is_read_anew(folder: Path) -> None:
    (folder / "ca.pem").write_text("not PEM", encoding="utf-8")
    refusal(folder, "ca.pem")
    (folder / "ca.pem").write_text(ONE_CERTIFICATE, encoding="utf-8")
    assert find_ca_file(folder, "ca.pem") == folder / "ca.pem"


def test_a_folder_is_no_file(folder: Path) -> None:
    assert "not a regular file" in refusal(folder, ".")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_does_not_hold_the_call(folder: Path) -> None:
    os.mkfifo(folder / "pipe.pem")
    assert "not a regular file" in refusal(folder, "pipe.pem")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_that_may_not_be_read_is_named(folder: Path) -> None:
    (folder / "ca.pem").chmod(0)
    assert "Permission denied" in refusal(folder, "ca.pem")


def test_a_files_content_in_the_place_of_its_path_is_not_repeated(folder: Path) -> None:
    assert "got the content of one" in refusal(folder, ONE_CERTIFICATE)
    assert ONE_CERTIFICATE[:80] not in refusal(folder, ONE_CERTIFICATE)


@pytest.mark.parametrize("name", ["a\x00b", "~nobody-of-that-name/ca.pem", "x" * 5000])
def test_an_impossible_path_is_an_error_of_the_configuration(folder: Path, name: str) -> None:
    assert len(refusal(folder, name)) < 700
