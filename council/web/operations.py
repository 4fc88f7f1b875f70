"""What makes a function an operation of programs and, as a form, of a page.

Its keyword-only parameters are the keys of the body, in camelCase; `as_` is `as`. Programs send
them as JSON to `/api/council` and a path. A browser sends a form to the path alone.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple, Self, get_origin

from fastapi import APIRouter, Depends, Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel
from starlette.datastructures import FormData

from council.app import App
from council.kernel import ids
from council.kernel.document import Change, Document
from council.kernel.errors import Conflict, Invalid

PREFIX = "/api/council"
Act = Callable[..., Any]
Line = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
Name = Annotated[str, Path(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Key = Annotated[
    Annotated[str, Field(max_length=200, pattern=r"^[\x21-\x7e]*$")],
    Header(alias="Idempotency-Key", description="A request repeated with its key counts once."),
]


class Shape(BaseModel):
    """A body: its keys in camelCase, and no others."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=lambda name: to_camel(name.rstrip("_"))
    )

    @classmethod
    def of_form(cls, sent: FormData) -> Self:
        """Return the body that a form is; what was not filled in is left out.

        Lists are separated by commas, or are fields of one name. Fields such as `stances.ada` are
        entries of a list, `ada=VALUE`; two of one name are a value with a colon.
        """
        made: dict[str, Any] = {}
        for field in cls.model_fields.values():
            key = str(field.alias)
            words = [str(one).replace("\r\n", "\n").strip() for one in sent.getlist(key)]
            if get_origin(field.annotation) is list:
                made[key] = list(filter(None, map(str.strip, ",".join(words).split(","))))
                for part in [one for one in sent if one.startswith(f"{key}.")]:
                    value = list(map(str, sent.getlist(part)))
                    made[key] += [f"{part[len(key) + 1 :]}={':'.join(value)}"] * bool(value[0])
            elif words and words[-1]:
                made[key] = words[-1]
        return cls.model_validate(made, strict=False)


class Asked(App):
    """The workspace for one request.

    Attributes:
        expected: The ETags that a conversation may have for its next change, none for any.
        sender: The person that a proxy passes on, else "".
    """

    expected: frozenset[str] = frozenset()
    sender: str = ""

    def person(self, given: str = "") -> str:
        """Return who asks: the one that a proxy passes on, else `given`, else the login name."""
        return super().person(self.sender or given)

    def conversation(self, name: str) -> Document[Any]:
        """Return an open conversation, whose next change has to be of an expected revision."""
        found = super().conversation(name)
        found.change = partial(self._changed, found.change)  # type: ignore[method-assign]
        return found

    def _changed(self, change: Callable[..., Change], decide: Act, **how: Any) -> Change:
        def fitting(state: Any) -> Any:
            if self.expected and not self.expected & {tag_of(state), str(state.rev), "*"}:
                hint = "read it again, then repeat the request with the new ETag"
                what = f"{state.name} is at revision {state.rev}"
                raise Conflict("other-revision", what, hint, rev=state.rev, status=412)
            return decide(state)

        made = change(fitting, **{"via": "http", **how})
        self.expected = frozenset()  # what follows from it is not meant
        return made


def tag_of(state: Any) -> str:
    """Return the ETag of a conversation; another one of its name has another mark."""
    return f"{state.rev}.{ids.digest(state.mark)[:8]}"


def tags_in(header: str) -> frozenset[str]:
    """Return the ETags that a header names.

    A proxy that compresses makes an ETag weak or adds `-gzip` to it; the revision is the same.
    """
    tags = filter(None, map(str.strip, header.split(",")))
    return frozenset(one.removeprefix("W/").strip('"').partition("-")[0] for one in tags)


def opened(request: Request) -> Asked:
    """Return the workspace for a request, with the ETags of its If-Match."""
    app: Asked = request.app.state.open()
    app.expected = tags_in(request.headers.get("if-match", ""))
    app.sender = request.state.person
    return app


Workspace = Annotated[Asked, Depends(opened)]


class Form(NamedTuple):
    """An operation that a page has a form for: `page` shows refusals, `then` what was done."""

    act: Act
    shape: type[Shape]
    path: str
    page: str
    then: str


FORMS = list[Form]()


def operation(
    router: APIRouter, path: str, status_code: int = 201, page: str = "", then: str = "",
    **more: Any,
) -> Callable[[Act], Act]:  # fmt: skip
    """Offer a function of a workspace to programs, and to the form of a page.

    If it has a parameter `key`, that may also be the header `Idempotency-Key`.
    """

    def add(act: Act) -> Act:
        known, as_keyword = inspect.signature(act, eval_str=True), inspect.Parameter.KEYWORD_ONLY
        at = [one for one in known.parameters.values() if one.kind is not as_keyword]
        body = [one for one in known.parameters.values() if one.kind is as_keyword]
        defaults = {one.name: ... if one.default is one.empty else one.default for one in body}
        fields: Any = {one.name: (one.annotation, defaults[one.name]) for one in body}
        name = "".join(re.findall(r"\w+", router.prefix[len(PREFIX) :] + path.title()))
        shape = create_model(name, __base__=Shape, __doc__=act.__doc__, **fields)

        def carried(app: Asked, body: Shape | None, header: str = "", **at: str) -> Any:
            most, given = app.settings.max_text_bytes, dict(body or ())
            for text in given.values():
                if isinstance(text, str) and len(text.encode("utf-8", "replace")) > most:
                    raise Invalid("too-long", f"the text is longer than {most} bytes", "shorten it")
            if header:
                given["key"] = given.get("key") or header
            return act(app, **at, **given)

        at.append(inspect.Parameter("body", as_keyword, annotation=shape))
        if ... not in defaults.values():
            at[-1] = at[-1].replace(annotation=shape | None, default=None)
        if "key" in fields:
            at.append(inspect.Parameter("header", as_keyword, annotation=Key, default=""))
        carried.__signature__ = inspect.Signature(at)  # type: ignore[attr-defined]
        carried.__name__, carried.__doc__ = act.__name__, act.__doc__
        router.post(path, status_code=status_code, **more)(carried)
        if page:
            FORMS.append(Form(carried, shape, path, page, then or page))
        return act

    return add
