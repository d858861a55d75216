"""The version, under the names that programs ask for."""

from ._version import (
    FALLBACK_VERSION as FALLBACK_VERSION,
    full_version as full_version,
    git_revision as git_revision,
    release as release,
    short_version as short_version,
    version as version,
)
