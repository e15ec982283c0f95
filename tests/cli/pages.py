"""Reads numbers back from the drawings of a report."""

import base64
import math
import re
import struct
import xml.etree.ElementTree
import zlib

import numpy


class Chart:
    """The numbers that a chart shows, read off its axes."""

    def __init__(self, figure):
        svg = xml.etree.ElementTree.fromstring(re.search("<svg.*</svg>", figure, re.DOTALL)[0])
        self.width, self.height = (float(side) for side in svg.get("viewBox").split()[2:])
        grid = [float(line.get("y1")) for line in svg.iter("line")]
        self.titles = [text.text for text in svg.findall("text[@class='axis']")]
        labels = [(text, self.number(text.text)) for text in svg.findall("text") if text.get("class") is None]
        beside = [(text, value) for text, value in labels if text.get("x") == "57.0"]
        self.label_gaps = [float(text.get("y")) - at for at, (text, _) in zip(grid, beside, strict=True)]
        self.y_ticks = [(at, value) for at, (_, value) in zip(grid, beside)]
        self.x_ticks = [(float(text.get("x")), value) for text, value in labels if text.get("text-anchor") == "middle"]
        self.y, self.x = (None if len(ticks) < 2 or any(isinstance(value, str) for _, value in ticks) else self.axis(ticks) for ticks in (self.y_ticks, self.x_ticks))
        shapes = {line.find("title").text: line for line in svg.iter("g") if line.find("polyline") is not None}
        self.marks = [mark.find("title").text for mark in svg.findall("g[@class='best']")]
        self.lines = {name: [self.points(line.find(tag)) for tag in ("polyline", "polygon")] for name, line in shapes.items()}
        self.circles = {name: [(float(c.get("cx")), float(c.get("cy"))) for c in line.iter("circle")]
                        for name, line in shapes.items()}

    def number(self, label):
        """A label as a number; a name as it is."""
        try:
            return 1000 * float(label[:-1]) if label.endswith("k") else float(label)
        except ValueError:
            return label

    def axis(self, ticks):
        """From a place on the drawing to a value; logarithmic if that fits the ticks better."""
        def through(forward, back):
            (first, low), *_, (last, high) = [(at, forward(value)) for at, value in ticks]
            unit = (high - low) / (last - first)
            return lambda at: back(low + (at - first) * unit)
        scales = [through(float, float), through(lambda v: math.log(max(v, 1e-30)), math.exp)]
        return min(scales, key=lambda scale: sum(abs(scale(at) - value) / abs(value) for at, value in ticks if value))

    def points(self, shape):
        pairs = [pair.split(",") for pair in shape.get("points").split()] if shape is not None else []
        return [(float(x), float(y)) for x, y in pairs]


def charts(page):
    """{title: Chart} of a page's text."""
    return {title: Chart(figure) for title, figure in
            re.findall(r"<figure><figcaption>([^<]*)</figcaption>\s*(<svg.*?</svg>)", page, re.DOTALL)}


def sparks(page):
    """{title: [the first, last, least and largest value]} of the small lines of a page, as text."""
    return {title: re.findall("<td>([^<]*)</td>", rest) for title, rest in
            re.findall('<svg class="spark.*?<title>(.*?)</title>.*?</svg></td>(.*?)</tr>', page)}


def tables(part):
    """The tables of a part of a page: rows of cells, without tags."""
    def text(cell):
        return re.sub("<.*?>", "", cell).replace("\xa0", " ").replace("&nbsp;", "")
    return [[[text(cell) for cell in re.findall("<t[hd].*?>(.*?)</t[hd]>", row)] for row in re.findall("<tr>(.*?)</tr>", table)]
            for table in re.findall("<table.*?>(.*?)</table>", part, re.DOTALL)]


def pixels(uri):
    """(height, width, 3) of a PNG of 8-bit RGB, with the five filters of RFC 2083, chapter 6."""
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 2)
    packed, at = b"", 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    raw = zlib.decompress(packed)
    rows, above = [], [0] * 3 * width
    for i in range(height):
        tag, *row = raw[i * (3 * width + 1):(i + 1) * (3 * width + 1)]
        for j in range(3 * width):
            a, b, c = (row[j - 3] if j >= 3 else 0), above[j], (above[j - 3] if j >= 3 else 0)
            paeth = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[j] = (row[j] + (0, a, b, (a + b) // 2, paeth)[tag]) % 256
        rows.append(row)
        above = row
    return numpy.array(rows).reshape(height, width, 3)
