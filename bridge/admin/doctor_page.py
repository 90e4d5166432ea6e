"""The page of the doctor: which keys its JSON has, and what they hold."""

from starlette.requests import Request
from starlette.responses import Response

from bridge.admin.census_page import plain
from bridge.admin.contracts import Surveys
from bridge.admin.documents import Document, error_document, show
from bridge.migration.diagnosis import Examined, diagnose

_UNABLE = "this bridge examines nothing: it runs without what asks the cluster; ask a bridge that `serve` runs"


class DoctorPage:
    """What stands in the way of moves, and what helps."""

    def __init__(self, surveys: Surveys | None) -> None:
        self._surveys = surveys

    async def __call__(self, _request: Request) -> Response:
        """Answer one request; brokers are asked, and a probe is made."""
        if self._surveys is None:
            return await show(error_document("EB-DOCTOR-010", _UNABLE), 503)
        return await show(examination_document(await self._surveys.examine()))


def examination_document(examined: Examined) -> Document:
    """`{"findings": [{"severity": …, "code": …, "text": …, "remedy": …}, …], "brokers": {…}}`."""
    return {
        "findings": [plain(finding) for finding in diagnose(examined)],
        "brokers": plain(examined.abilities),
    }
