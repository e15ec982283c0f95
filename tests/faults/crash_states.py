"""What a power failure can leave of a directory: replays a log of strace on a model of a disk.

In the model the data of a file are on disk after fsync of that file, and a name after fsync of its directory. Until then each
change is there or not, whatever came before or after it: written data may be missing, zeros, or there in part. A rename is one
change, and so is a new size.
"""

import hashlib
import itertools
import math
import re

CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:<.*>)?(.*)$")
# What changes nothing on disk, or is not followed since it only reads.
READS = set("""
    access execve fcntl flock fstat getcwd getdents64 lseek mmap newfstatat openat_read pread64 read readlink statfs statx uname
""".split())
# Logs that no run syncs and no run needs: their changes are sampled, since they only add up.
LOGS = {"log.txt", "timing.jsonl"}
EVERY = 12  # so many changes of any other file that are not on disk arrive in every subset
TOGETHER = 128  # so many states, at most, in which all files and directories vary at once


class File:
    def __init__(self, name, every=EVERY):
        self.durable, self.pending, self.size, self.known = b"", [], 0, None
        self.is_log = name in LOGS
        self.every = 3 if self.is_log else every

    def change(self, offset, data):
        """Writes data, or cuts to that size where there are none."""
        self.pending.append((offset, data))
        self.size = offset if data is None else max(self.size, offset + len(data))
        self.known = None

    def sync(self):
        self.durable, self.pending, self.known = self.apply(self.pending), [], None

    def apply(self, changes):
        data = bytearray(self.durable)
        for offset, new in changes:
            if new is None:
                del data[offset:]
            data.extend(bytes(max(0, offset + len(new or b"") - len(data))))
            if new:
                data[offset:offset + len(new)] = new
        return bytes(data)

    def variants(self):
        """What may be on disk; first as if nothing had arrived since the last fsync, then everything."""
        if self.known is None:
            self.known = self.distinct([*few(self.pending), *self.arrivals()])
        return self.known

    def some_variants(self):
        return self.distinct(few(self.pending))

    def distinct(self, arrivals):
        contents = dict.fromkeys(self.apply(some) for some in arrivals)
        ends = [self.durable, self.apply(self.pending)] if self.pending else [self.durable]
        return [Content(c) for c in [*ends, *(c for c in contents if c not in ends)]]

    def arrivals(self):
        """The changes that arrive: every subset; of too many the first half or all but the first; and the last two in part."""
        changes = self.pending
        if len(changes) <= self.every:
            yield from subsets(changes)
        else:
            yield from (changes[:len(changes) // 2], changes[1:])
        for last in range(max(0, len(changes) - 2), len(changes)):
            offset, data = changes[last]
            half = len(data or b"") // 2
            if half:
                for part in (data[:half], bytes(len(data)), bytes(half) + data[half:]):
                    yield [*changes[:last], (offset, part), *changes[last + 1:]]


class Content(bytes):
    """Bytes that know their digest."""

    def __init__(self, _):
        self.digest = hashlib.sha256(self).digest()


class Folder:
    def __init__(self):
        self.durable, self.names, self.pending = {}, {}, []

    def change(self, names):
        """Names with what they stand for now, None for nothing; all at once."""
        self.pending.append(names)
        self.names = self.apply([names], self.names)

    def sync(self):
        self.durable, self.pending = self.names, []

    def apply(self, changes, names=None):
        result = dict(self.durable if names is None else names)
        for change in changes:
            result.update(change)
        return {name: node for name, node in result.items() if node is not None}

    def variants(self):
        """As File.variants: every subset of the changes."""
        return self.distinct([*few(self.pending), *subsets(self.pending)])

    def some_variants(self):
        return self.distinct(few(self.pending))

    def distinct(self, arrivals):
        found = [self.durable, self.names] if self.pending else [self.durable]
        for some in arrivals:
            names = self.apply(some)
            if names not in found:
                found.append(names)
        return found

    def within(self):
        """Each node that stands, or may stand, in it or below."""
        nodes = {id(n): n for names in (self.names, self.durable, *self.pending) for n in names.values() if n is not None}
        for node in nodes.values():
            yield node
            if isinstance(node, Folder):
                yield from node.within()


def few(changes):
    """Nothing, everything, all but the last, the last alone."""
    return [[], changes, changes[:-1], changes[-1:]]


def subsets(changes):
    return (list(itertools.compress(changes, some)) for some in itertools.product((0, 1), repeat=len(changes)))


class Disk:
    """`root`, in which the calls were made, is on disk; `works(kind)` says whether fsync of that kind of node does. Of more than
    `every` changes of a file that are not on disk only some subsets are made; `most` is the largest number that a file had."""

    def __init__(self, root, works=lambda kind: True, every=EVERY):
        self.root, self.works, self.every = str(root), works, every
        self.top, self.open, self.most = Folder(), {}, 0

    def place(self, folder, path):
        """The Folder and the last name of a path; None outside of the root."""
        at = self.top
        if not path.startswith("/") and folder != "AT_FDCWD":
            if not folder.isdigit() or int(folder) not in self.open:
                return None
            at = self.open[int(folder)].node
        elif path.startswith("/"):
            if not path.startswith(self.root + "/"):
                return None
            path = path[len(self.root) + 1:]
        *folders, name = [part for part in path.split("/") if part not in ("", ".")] or [""]
        for part in folders:
            at = at.names.get(part)
            if not isinstance(at, Folder):
                return None
        return at, name

    def replay(self, line):
        """Follows one call; returns the Folder in which it changed something, or made it durable."""
        match = CALL.match(line)
        if not match or match.group(3).startswith("-") or "INJECTED" in match.group(4):
            return None
        name, words, result = match.group(1), match.group(2), int(match.group(3))
        if name in READS:
            return None
        strings = [decode(text) for text in re.findall(r'"([^"]*)"', words)]
        plain = [word.strip() for word in re.sub(r'"[^"]*"', "*", words).split(",")]
        follow = getattr(self, "do_" + name, None)
        if follow is None:
            raise NotImplementedError(line[:200])
        return follow(plain, strings, result)

    def do_openat(self, words, strings, fd):
        self.open.pop(fd, None)
        place = self.place(words[0], strings[0].decode())
        if place is None:
            return None
        folder, name = place
        made = name and name not in folder.names
        if made:
            folder.change({name: File(name, self.every)})
        node = folder.names[name] if name else folder
        if "O_TRUNC" in words[2]:
            raise NotImplementedError("O_TRUNC")
        self.open[fd] = Opened(node, folder, "O_APPEND" in words[2])
        return folder if made else None

    def do_close(self, words, strings, result):
        self.open.pop(int(words[0]), None)

    def do_write(self, words, strings, result):
        opened = self.open.get(int(words[0]))
        if opened is None:
            return None
        offset = opened.node.size if opened.append else opened.position
        self.change(opened.node, offset, strings[0][:result])
        opened.position = offset + result
        return opened.folder

    def change(self, file, offset, data):
        file.change(offset, data)
        self.most = max(self.most, 0 if file.is_log else len(file.pending))

    def do_fallocate(self, words, strings, result):
        opened = self.open[int(words[0])]
        if opened.node.size:
            raise NotImplementedError("fallocate of a file that is not empty")
        self.change(opened.node, 0, bytes(int(words[3])))
        return opened.folder

    def do_ftruncate(self, words, strings, result):
        opened = self.open[int(words[0])]
        self.change(opened.node, int(words[1]), None)
        return opened.folder

    def do_fsync(self, words, strings, result):
        opened = self.open.get(int(words[0]))
        if opened and self.works(type(opened.node)):
            opened.node.sync()
        return opened and opened.folder

    def do_renameat2(self, words, strings, result):
        directories = (words[0], words[2]) if len(words) > 2 else ("AT_FDCWD", "AT_FDCWD")
        (folder, old), (target, new) = (self.place(directory, s.decode()) for directory, s in zip(directories, strings))
        if folder is not target:
            raise NotImplementedError("a rename from one directory to another")
        folder.change({old: None, new: folder.names[old]})
        return folder

    do_rename = do_renameat = do_renameat2

    def do_mkdir(self, words, strings, result):
        return self.do_mkdirat(["AT_FDCWD", *words], strings, result)

    def do_mkdirat(self, words, strings, result):
        folder, name = self.place(words[0], strings[0].decode())
        folder.change({name: Folder()})
        return folder

    def do_unlinkat(self, words, strings, result):
        folder, name = self.place(words[0], strings[0].decode())
        folder.change({name: None})
        return folder

    def states(self, changed):
        """Every {path: Content, or None for a directory} that a power failure may leave now.

        In the changed directory all subsets of its changes, with all variants of one file, and elsewhere nothing since the last
        fsync has arrived, or everything; and what is left when all that matters varies at once.
        """
        named = [changed.names, changed.durable, *changed.pending]
        files = {id(n): n for names in named for n in names.values() if isinstance(n, File)}.values()
        files = [file for file in files if file.pending] or [None]
        for rest, names, file in itertools.product((0, 1), changed.variants(), files):
            for content in file.variants() if file else [None]:
                yield dict(tree(self.top, rest, {id(changed): names, id(file): content}))
        yield from self.together()

    def together(self):
        """All that is not on disk at once; of the most changeable only few variants, so that there are not too many states."""
        nodes = {id(node): node for node in [self.top, *self.top.within()] if node.pending}
        for key in [key for key, node in nodes.items() if isinstance(node, File) and node.is_log]:
            del nodes[key]
        variants = {key: node.variants() for key, node in nodes.items()}
        for key in sorted(variants, key=lambda key: -len(variants[key])):
            if math.prod(map(len, variants.values())) > TOGETHER:
                variants[key] = nodes[key].some_variants()
        for chosen in itertools.product(*variants.values()):
            yield dict(tree(self.top, 0, dict(zip(variants, chosen))))


class Opened:
    def __init__(self, node, folder, append):
        self.node, self.folder, self.append, self.position = node, folder, append, 0


def tree(folder, rest, chosen, prefix=""):
    """What stands in the folder: as chosen for a node's id, else its variant number `rest`, or the only one."""
    def variant(node):
        return chosen[id(node)] if id(node) in chosen else node.variants()[rest * bool(node.pending)]

    for name, node in variant(folder).items():
        if isinstance(node, Folder):
            yield prefix + name, None
            yield from tree(node, rest, chosen, prefix + name + "/")
        else:
            yield prefix + name, variant(node)


def on_disk(path, every=EVERY):
    """The node of what stands there, all of it durable."""
    if path.is_dir():
        folder = Folder()
        folder.durable = folder.names = {inner.name: on_disk(inner, every) for inner in path.iterdir()}
        return folder
    file = File(path.name, every)
    file.durable = path.read_bytes()
    file.size = len(file.durable)
    return file


def decode(text):
    """A string of `strace -xx`."""
    return bytes.fromhex(text.replace("\\x", ""))
