"""The base of every model that travels, and text that is safe to show."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from rainbow_protocol import limits

# Control characters (C1 too) and the Unicode line ends: in a name or a reason they could forge a line of a log,
# or speak to a terminal.
_NOT_OF_A_LINE = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_CONTROLS = re.compile(f"[{_NOT_OF_A_LINE}]")
Line = StringConstraints(pattern=f"^[^{_NOT_OF_A_LINE}]*$")


def one_line(text: str) -> str:
    return text if text.isprintable() else _CONTROLS.sub(" ", text)


# A reason often quotes somebody else's words, so it is cleaned, not refused: one odd byte in an error text must not
# make an agent's whole batch of reports undeliverable.
Reason = Annotated[str, StringConstraints(max_length=limits.REASON_CHARS_MAX), AfterValidator(one_line)]


class WireModel(BaseModel):
    """Unknown fields are ignored so that a newer peer can say more; types are not coerced."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)
