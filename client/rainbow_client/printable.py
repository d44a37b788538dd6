"""Words from elsewhere (names, reasons, commands) made safe to print.

A job's name must not be able to move the cursor, recolour the terminal, forge a
line or hide text behind a right-to-left mark. A job's output is another matter:
it is passed on as it is, as ssh and srun do.
"""


def printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")
