"""A bar chart as an SVG file: rectangles and text, which need no library of the size of this whole project."""

import math
from collections.abc import Mapping
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, ROW, TOP = 820, 150, 90, 34, 64
COLOUR, BEST = "#7a9cc6", "#2f6db5"


def svg(title: str, unit: str, values: Mapping[str, float]) -> str:
    """One bar for each value. The axis is logarithmic: placing badly costs a hundred times what placing well does."""
    low = 10 ** math.floor(math.log10(max(1e-9, min(values.values()) * 0.999)))
    high = max(max(values.values()), low * 10)
    span = math.log10(high / low)
    height = TOP + ROW * len(values) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="16" y="26" font-size="17">{escape(title)}</text>',
        f'<text x="16" y="46" font-size="12" fill="#555">{escape(unit)}, logarithmic; less is better</text>',
    ]
    for place, (name, value) in enumerate(values.items()):
        top = TOP + ROW * place
        width = max(2.0, (WIDTH - LEFT - RIGHT) * math.log10(max(value, low) / low) / span)
        colour = BEST if value == min(values.values()) else COLOUR
        parts += [
            f'<text x="{LEFT - 10}" y="{top + 19}" font-size="13" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{top + 4}" width="{width:.1f}" height="{ROW - 12}" fill="{colour}"/>',
            f'<text x="{LEFT + width + 6:.1f}" y="{top + 19}" font-size="12">{value:,.1f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
