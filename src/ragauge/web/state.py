"""What one application holds while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragauge.web.settings import Services, WebSettings

if TYPE_CHECKING:
    from ragauge.web.catalog import Catalog
    from ragauge.web.comparing import Comparisons
    from ragauge.web.index import Indexes
    from ragauge.web.jobs import Jobs


@dataclass(frozen=True)
class State:
    """Settings, injected services and caches; handlers get it from `state_of(request)`."""

    settings: WebSettings
    services: Services
    catalog: Catalog
    indexes: Indexes
    jobs: Jobs
    comparisons: Comparisons


def state_of(request: Any) -> State:
    """The state of the application that this request is for."""
    found: State = request.app.state.ragauge
    return found
