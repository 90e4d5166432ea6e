"""The page of the admin API that has the configuration read again."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from bridge.admin.contracts import Reloading
from bridge.admin.documents import error_document, show
from bridge.admin.orders import read_flag, read_order, read_text


class ReloadPage:
    """The configuration is read again, or only judged; 400 with every reason if it can't be used."""

    def __init__(self, reloading: Reloading | None) -> None:
        self._reloading = reloading

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        order = await read_order(request)
        is_dry_run, log_level = (
            read_flag(order, "dry_run"),
            read_text(order, "log_level") if "log_level" in order else "",
        )
        if self._reloading is None:
            sentence = "this bridge was not started from a configuration that can be read again"
            return await show(error_document("EB-ADMIN-014", sentence), 501)
        reload = await self._reloading.reload(is_dry_run=is_dry_run, log_level=log_level)
        if reload.error:
            sentence = f"the configuration can't be used, nothing has changed: {reload.error}"
            return await show(error_document("EB-ADMIN-015", sentence), 400)
        document = asdict(reload)
        del document["error"]
        return await show(document)
