"""Finds the places of a source that can be mutated, with libclang (Debian's python3-clang-19).

A point is a range of the text with alternatives to it. A mutant's name is its file, its source line, its operator and
its column in that line, so that it survives shifts of lines: "optim/clip.cpp|return total * scale;|* -> /|13"."""

import collections
import dataclasses
import re

from clang import cindex

Kind = cindex.CursorKind

SWAPS = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"], "<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"],
         "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"], "+=": ["-=", "="], "-=": ["+=", "="],
         "*=": ["/=", "="], "/=": ["*=", "="], "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["&"]}
EXTREMES = {"std::min": "std::max", "std::max": "std::min"}
FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.FUNCTION_TEMPLATE,
             Kind.CONVERSION_FUNCTION}
# What is evaluated while compiling, and what is no expression.
CLOSED = {Kind.PARM_DECL, Kind.TEMPLATE_TYPE_PARAMETER, Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.STATIC_ASSERT,
          Kind.TYPE_REF, Kind.TEMPLATE_REF, Kind.NAMESPACE_REF, Kind.TYPE_ALIAS_DECL, Kind.ENUM_DECL, Kind.FIELD_DECL,
          Kind.TEMPLATE_TEMPLATE_PARAMETER, Kind.CXX_THROW_EXPR, Kind.CXX_BASE_SPECIFIER, Kind.TYPEDEF_DECL, Kind.USING_DECLARATION}
# Calls that take time or memory, or only name a thing for messages: without them results stay as they are.
SILENT = re.compile(r"(?:^|[.>:])(?:reserve|shrink_to_fit|yield|sleep_for|notify_one|notify_all|prefetch)\s*\(")
# Calls whose further arguments, or all of them, make up the text of a message.
MESSAGES = re.compile(r"(?:detail::)?(?:check(?:_shape)?|fail_if)(?:<\w+>)?\(")
FAILURES = re.compile(r"(?:detail::)?(?:fail\w*|refuse)(?:<\w+>)?\(")
COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.S)


@dataclasses.dataclass
class Point:
    """A mutant: [begin, end) of the file becomes `text`; a statement if `statement`, a condition if `condition`."""
    file: str
    begin: int
    end: int
    operator: str
    text: str
    function: str
    column_at: int
    statement: bool = False
    condition: bool = False
    name: str = ""


def plain(text):
    """The text on one line, without comments."""
    return re.sub(r"\s+", " ", COMMENT.sub(lambda m: " " if m[0][0] == "/" else m[0], text)).strip()


class Finder:
    def __init__(self, file, path, arguments, source):
        self.file, self.source = file, source
        self.points = []
        unit = cindex.Index.create().parse(path, arguments)
        fatal = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Fatal]
        if fatal:
            raise SystemExit(f"{file}: {fatal[0]}")
        for cursor in unit.cursor.get_children():
            if cursor.location.file and cursor.location.file.name == path:
                self.declarations(cursor, "")

    def slice(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, cursor):
        begin, end = self.slice(cursor)
        return self.source[begin:end]

    def declarations(self, cursor, scope):
        """Looks for function bodies."""
        if cursor.kind in FUNCTIONS:
            head = self.text(cursor).split("{")[0]
            if cursor.is_definition() and not re.search(r"\b(?:constexpr|consteval)\b", head):
                self.function = f"{scope}{cursor.spelling.split('<')[0]}"
                for child in cursor.get_children():
                    self.visit(child, cursor)
            return
        if cursor.kind == Kind.VAR_DECL:
            self.lambdas(cursor, cursor.spelling)
        if cursor.kind in (Kind.VAR_DECL, Kind.FIELD_DECL, *CLOSED):
            return
        scope = f"{cursor.spelling.split('<')[0]}::" if cursor.kind in (
            Kind.STRUCT_DECL, Kind.CLASS_DECL, Kind.CLASS_TEMPLATE, Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION) else scope
        for child in cursor.get_children():
            self.declarations(child, scope)

    def lambdas(self, cursor, table):
        """The functions that a table holds; its other values are made before a test can choose a mutant."""
        for child in cursor.get_children():
            if child.kind == Kind.LAMBDA_EXPR:
                self.function = table
                self.visit(child, cursor)
            else:
                self.lambdas(child, table)

    def add(self, cursor, operator, text, at=None, **flags):
        begin, end = cursor if isinstance(cursor, tuple) else self.slice(cursor)
        self.points.append(Point(self.file, begin, end, operator, plain(text), self.function,
                                 begin if at is None else at, **flags))

    def visit(self, cursor, parent):
        if cursor.kind in CLOSED:
            return
        begin, end = self.slice(cursor)
        if cursor.kind in (Kind.DECL_STMT, Kind.VAR_DECL) and re.search(
                r"\bconstexpr\b", self.source[begin:end].split("=")[0].split("{")[0]):
            return
        children = list(cursor.get_children())
        handler = getattr(self, cursor.kind.name.lower(), None)
        if handler and begin < end:
            skipped = handler(cursor, children, parent) or ()
        else:
            skipped = ()
        for child in children:
            if child not in skipped:
                self.visit(child, cursor)
        if cursor.kind == Kind.COMPOUND_STMT:
            for child in children:
                self.statement(child)
        elif cursor.kind in (Kind.IF_STMT, Kind.FOR_STMT, Kind.WHILE_STMT, Kind.CXX_FOR_RANGE_STMT):
            for child in children[1:] if cursor.kind == Kind.IF_STMT else children[-1:]:
                self.statement(child)

    def statement(self, cursor):
        """A statement that can be left out."""
        begin, end = self.slice(cursor)
        rest = re.match(r"\s*;", self.source[end:])
        if begin >= end or not rest:
            return
        text, kind = self.source[begin:end], cursor.kind
        if kind == Kind.UNEXPOSED_EXPR and (inner := list(cursor.get_children())):
            kind, cursor = inner[0].kind, inner[0]
        gone = None
        if kind == Kind.BINARY_OPERATOR or kind == Kind.COMPOUND_ASSIGNMENT_OPERATOR:
            gone = "assignment deleted"
        elif kind == Kind.UNARY_OPERATOR and re.match(r"(\+\+|--)|.*(\+\+|--)$", text):
            gone = "step deleted"
        elif kind == Kind.CALL_EXPR:
            operator = re.match(r"operator(?:[-+*/]?=|\+\+|--)$", cursor.spelling or "")
            if operator or not SILENT.search(text):
                gone = "assignment deleted" if operator else "call deleted"
        elif kind in (Kind.BREAK_STMT, Kind.CONTINUE_STMT) or text == "return":
            gone = f"{text} deleted"
        if gone:
            self.add((begin, end + rest.end()), gone, "", statement=True)

    def operator_between(self, left, right):
        """The operator between two operands and where it stands; None within macros."""
        between = self.source[left.extent.end.offset:right.extent.start.offset]
        found = re.fullmatch(r"[\s)]*((?:[-+*/%<>=!&|^]=?|&&|\|\||<<|>>)=?)[\s(]*", COMMENT.sub("", between))
        return (found[1], left.extent.end.offset + between.index(found[1])) if found else (None, 0)

    def binary_operator(self, cursor, children, parent):
        if len(children) != 2:
            return
        operator, at = self.operator_between(*children)
        if operator is None:
            return
        begin, end = self.slice(cursor)
        types = [child.type.get_canonical() for child in children]
        pointers = [t.kind == cindex.TypeKind.POINTER for t in types]
        for other in SWAPS.get(operator, ()):
            if any(pointers) and operator in "*/+-" and (all(pointers) or pointers[1]):
                continue
            if operator in ("&", "|", "<<", ">>", "^") and types[0].kind in (cindex.TypeKind.RECORD,):
                continue
            self.add(cursor, f"{operator} -> {other}", self.source[begin:at] + other + self.source[at + len(operator):end], at)

    compound_assignment_operator = binary_operator

    def unary_operator(self, cursor, children, parent):
        text, begin = self.text(cursor), cursor.extent.start.offset
        if len(children) != 1:
            return
        if text.startswith("!"):
            self.add(cursor, "! deleted", f"static_cast<bool>({text[1:]})", begin, condition=True)
        elif text.startswith("-") and not text.startswith("--"):
            self.add(cursor, "- deleted", text[1:], begin)

    def integer_literal(self, cursor, children, parent):
        text = self.text(cursor)
        found = re.fullmatch(r"(\d+|0x[0-9a-fA-F]+)([uUlLzZ]*)", text.replace("'", ""))
        if not found:
            return
        value = int(found[1], 16 if found[1].startswith("0x") else 10)
        other = "0" if value == 1 else str(value + 1)
        self.add(cursor, f"{text} -> {other}", other + found[2])

    def floating_literal(self, cursor, children, parent):
        text = self.text(cursor)
        if re.fullmatch(r"[\d.'eE+-]+", text):
            other = repr(float(text.replace("'", "")) * 1.001) if float(text.replace("'", "")) else "1.0"
            self.add(cursor, f"{text} -> {other}", other)

    def cxx_bool_literal_expr(self, cursor, children, parent):
        text = self.text(cursor)
        if text in ("true", "false"):
            other = "false" if text == "true" else "true"
            self.add(cursor, f"{text} -> {other}", other)

    def condition(self, cursor, values):
        if cursor.kind.is_expression():
            for value in values:
                self.add(cursor, f"condition {value}", value, condition=True)

    def if_stmt(self, cursor, children, parent):
        if re.match(r"if\s+constexpr\b", self.text(cursor)):
            return children[:1]
        self.condition(children[0], ["true", "false"])

    def while_stmt(self, cursor, children, parent):
        self.condition(children[0], ["false"])

    def for_stmt(self, cursor, children, parent):
        for child in children[:-1]:
            before = self.source[cursor.extent.start.offset:child.extent.start.offset]
            after = self.source[child.extent.end.offset:children[-1].extent.start.offset]
            if before.count(";") == 1 and ";" in after:
                self.condition(child, ["false"])

    def conditional_operator(self, cursor, children, parent):
        self.condition(children[0], ["true", "false"])

    def case_stmt(self, cursor, children, parent):
        return children[:1]

    def call_expr(self, cursor, children, parent):
        text, begin = self.text(cursor), cursor.extent.start.offset
        if FAILURES.match(text):
            return children
        if MESSAGES.match(text):
            return children[2:]
        called = re.match(r"(std::(?:min|max))\b", text)
        if called:
            self.add(cursor, f"{called[1]} -> {EXTREMES[called[1]]}", EXTREMES[called[1]] + text[8:], begin)
            return
        arguments = [a for a in cursor.get_arguments() if a is not None]
        if not re.match(r"[\w:.<>\[\]-]+\(", text) or "operator" in (cursor.spelling or ""):
            return
        for left, right in zip(arguments, arguments[1:]):
            types = [a.type.get_canonical().spelling for a in (left, right)]
            texts = [self.text(a) for a in (left, right)]
            if types[0] != types[1] or texts[0] == texts[1] or "" in texts or '"' in texts[0] + texts[1]:
                continue
            if re.fullmatch(r"[\d.]+", texts[0]) and re.fullmatch(r"[\d.]+", texts[1]) or "type-parameter" in types[0]:
                continue
            ranges = [self.slice(a) for a in (left, right)]
            end = cursor.extent.end.offset
            swapped = (self.source[begin:ranges[0][0]] + texts[1] + self.source[ranges[0][1]:ranges[1][0]] + texts[0]
                       + self.source[ranges[1][1]:end])
            self.add(cursor, "arguments swapped", swapped, ranges[0][0])
            break


def named(points, source):
    """Gives points their names; of two with the same name, the second one ends in #2."""
    count = collections.Counter()
    for point in sorted(points, key=lambda p: (p.column_at, p.operator)):
        start = source.rfind("\n", 0, point.column_at) + 1
        line = source[start:source.find("\n", point.column_at)]
        column = point.column_at - start - (len(line) - len(line.lstrip()))
        name = f"{point.file}|{COMMENT.sub(lambda m: '' if m[0][0] == '/' else m[0], line).strip()}|{point.operator}|{column}"
        count[name] += 1
        point.name = name if count[name] == 1 else f"{name}#{count[name]}"
    return points


def find(file, path, arguments):
    """The text of a source, a character for each byte, and its points."""
    with open(path, encoding="latin-1", newline="") as stream:
        source = stream.read()
    unique = {(p.begin, p.end, p.operator, p.statement): p for p in Finder(file, path, arguments, source).points}
    return source, named(unique.values(), source)
