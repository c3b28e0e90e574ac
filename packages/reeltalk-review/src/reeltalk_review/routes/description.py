"""The description of all addresses under /api/, as OpenAPI."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from reeltalk_review.access import Action
from reeltalk_review.describing_api import api_document
from reeltalk_review.people import User
from reeltalk_review.web import require

router = APIRouter()


@router.get("/api/openapi.json", response_model=dict)
def describe_api(request: Request, person: Annotated[User, require(Action.LOOK)]) -> Response:
    """This description, as OpenAPI."""
    state = request.app.state
    if not hasattr(state, "api_document"):
        state.api_document = api_document(state.routers)
    return JSONResponse(state.api_document)
