"""Answers as every page of the admin API gives them.

It must not know what any page is about.
"""

from starlette.responses import Response

from bridge.admin.documents import Document, encode, error_document

JSON = "application/json"
NAME_CHARS_SHOWN = 100


async def show(document: Document, status: int = 200) -> Response:
    """A short document."""
    return Response(encode(document), status, media_type=JSON)


async def unknown_group(name: str) -> Response:
    """404 with a sentence: there is no such group."""
    shown = name if len(name) <= NAME_CHARS_SHOWN else f"{name[:NAME_CHARS_SHOWN]}…"
    sentence = (
        f"the bridge coordinates no group {shown!r}; groups that no rule names are the broker's, and a group "
        "appears with its first member; `epochbridge groups` lists those there are"
    )
    return await show(error_document("EB-ADMIN-004", sentence), 404)
