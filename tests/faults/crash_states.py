"""What a power failure can leave of a directory: replays a log of strace on a model of a disk.

In the model the data of a file are on disk after fsync of that file, and a name after fsync of its directory. Until then each
change is there or not, whatever came before or after it: written data may be missing, zeros, or there in part. A rename is one
change, and so is a new size.
"""

import hashlib
import itertools
import re

CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:<.*>)?(.*)$")
# What changes nothing on disk, or is not followed since it only reads.
READS = set("""
    access execve fcntl flock getcwd getdents64 lseek mmap newfstatat openat_read pread64 read readlink statfs statx uname
""".split())


class File:
    def __init__(self):
        self.durable, self.pending, self.size, self.known = b"", [], 0, None

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
        """What may be on disk; first as if nothing had arrived since the last fsync, last everything."""
        if self.known is None:
            contents = dict.fromkeys(self.apply(some) for some in self.arrivals())
            self.known = [Content(c) for c in contents]
        return self.known

    def arrivals(self):
        """The changes that arrive: every subset of few; of many all, all but one or the last, the last in part."""
        changes = self.pending
        yield []
        if len(changes) <= 3:
            yield from (itertools.compress(changes, some) for some in itertools.product((0, 1), repeat=len(changes)))
        else:
            yield from (changes[:-1], changes[:len(changes) // 2], changes[1:])
        for last in range(max(0, len(changes) - 2), len(changes)):
            offset, data = changes[last]
            half = len(data or b"") // 2
            if half:
                for part in (data[:half], bytes(len(data)), bytes(half) + data[half:]):
                    yield [*changes[:last], (offset, part), *changes[last + 1:]]
        yield changes


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
        found = []
        for some in itertools.product((0, 1), repeat=len(self.pending)):
            names = self.apply(itertools.compress(self.pending, some))
            if names not in found:
                found.append(names)
        return found


class Disk:
    """`root`, in which the calls were made, is on disk; `works(kind)` says whether fsync of that kind of node does."""

    def __init__(self, root, works=lambda kind: True):
        self.root, self.works = str(root), works
        self.top, self.open = Folder(), {}

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
            folder.change({name: File()})
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
        opened.node.change(offset, strings[0][:result])
        opened.position = offset + result
        return opened.folder

    def do_fallocate(self, words, strings, result):
        opened = self.open[int(words[0])]
        if opened.node.size:
            raise NotImplementedError("fallocate of a file that is not empty")
        opened.node.change(0, bytes(int(words[3])))
        return opened.folder

    def do_ftruncate(self, words, strings, result):
        opened = self.open[int(words[0])]
        opened.node.change(int(words[1]), None)
        return opened.folder

    def do_fsync(self, words, strings, result):
        opened = self.open.get(int(words[0]))
        if opened and self.works(type(opened.node)):
            opened.node.sync()
        return opened and opened.folder

    def do_renameat2(self, words, strings, result):
        (folder, old), (target, new) = (self.place(words[i], s.decode()) for i, s in zip((0, 2), strings))
        if folder is not target:
            raise NotImplementedError("a rename from one directory to another")
        folder.change({old: None, new: folder.names[old]})
        return folder

    do_renameat = do_renameat2

    def do_mkdir(self, words, strings, result):
        folder, name = self.place("AT_FDCWD", strings[0].decode())
        folder.change({name: Folder()})
        return folder

    def do_unlink(self, words, strings, result):
        folder, name = self.place("AT_FDCWD", strings[0].decode())
        folder.change({name: None})
        return folder

    def states(self, changed):
        """Every {path: Content, or None for a directory} that a power failure may leave now.

        In the changed directory all subsets of its changes, with all variants of one file; elsewhere nothing since the last
        fsync has arrived, or everything.
        """
        named = [changed.names, changed.durable, *changed.pending]
        files = {id(n): n for names in named for n in names.values() if isinstance(n, File)}.values()
        files = [file for file in files if file.pending] or [None]
        for rest, names, file in itertools.product((0, -1), changed.variants(), files):
            for content in file.variants() if file else [None]:
                yield dict(tree(self.top, rest, {id(changed): names, id(file): content}))


class Opened:
    def __init__(self, node, folder, append):
        self.node, self.folder, self.append, self.position = node, folder, append, 0


def tree(folder, rest, chosen, prefix=""):
    """What stands in the folder: as chosen for a node's id, else its variant number `rest`."""
    names = chosen[id(folder)] if id(folder) in chosen else folder.variants()[rest]
    for name, node in names.items():
        if isinstance(node, Folder):
            yield prefix + name, None
            yield from tree(node, rest, chosen, prefix + name + "/")
        else:
            yield prefix + name, chosen[id(node)] if id(node) in chosen else node.variants()[rest]


def on_disk(path):
    """The node of what stands there, all of it durable."""
    if path.is_dir():
        folder = Folder()
        folder.durable = folder.names = {inner.name: on_disk(inner) for inner in path.iterdir()}
        return folder
    file = File()
    file.durable = path.read_bytes()
    file.size = len(file.durable)
    return file


def decode(text):
    """A string of `strace -xx`."""
    return bytes.fromhex(text.replace("\\x", ""))
