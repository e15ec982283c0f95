"""Malicious HDF5 files: each changes a good one, at the dataset `path`, and h5py writes it."""

import hashlib
import struct

import h5py
import numpy

TERA = 1 << 40
MIBS = 1 << 20
OTHER = "/etc/hostname"  # a file that nobody may open


def sealed(image, step):
    """The image of a checkpoint with a seal whose digests hold: docs/checkpoint-format.md."""
    head = struct.pack("<8sIIQQ32s416x", b"XGRADCK1", 1, 0, len(image), step, hashlib.sha256(image).digest())
    return image + head + hashlib.sha256(head).digest()


def low_level(file, path, shape, setup, chunk=None):
    """Replaces a dataset by one of a shape that `setup` gives other properties; nothing is written."""
    del file[path]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    if chunk:
        properties.set_chunk(chunk)
    setup(properties)
    space = h5py.h5s.create_simple(shape)
    return h5py.h5d.create(file.id, path.encode(), h5py.h5t.IEEE_F32LE, space, properties)


def replace(file, path, **how):
    del file[path]
    file.create_dataset(path, **how)


def soft_link(file, path):
    file.move(path, "aside")
    file[path] = h5py.SoftLink("/aside")


def dangling_link(file, path):
    del file[path]
    file[path] = h5py.SoftLink("/nowhere")


def link_to_itself(file, path):
    del file[path]
    file[path] = h5py.SoftLink("/" + path)


def external_link(file, path):
    del file[path]
    file[path] = h5py.ExternalLink(OTHER, "/x")


def external_group(file, path):
    file["elsewhere"] = h5py.ExternalLink(OTHER, "/")
    del file[path]
    file[path] = h5py.SoftLink("/elsewhere/x")


def loop_of_groups(file, path):
    inner = file.create_group("loop/inner")
    inner["back"] = file["loop"]


def linked_twice(file, path):
    file["again"] = file[path]


def external_storage(file, path):
    shape, dtype = file[path].shape, file[path].dtype
    size = int(numpy.prod(shape)) * dtype.itemsize
    replace(file, path, shape=shape, dtype=dtype, external=[(OTHER, 0, size)])


def virtual(file, path):
    space = h5py.h5s.create_simple(file[path].shape)
    low_level(file, path, file[path].shape, lambda p: p.set_virtual(space, OTHER.encode(), b"x", space))


def shape_bomb(file, path):
    low_level(file, path, (TERA,), lambda p: p.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE))


def overflowing_shape(file, path):
    low_level(file, path, (TERA, TERA // 1024), lambda p: p.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE), chunk=(1, 1))


def chunked_shape_bomb(file, path):
    low_level(file, path, (TERA,), lambda p: None, chunk=(1024,))


def deflate_bomb(file, path):
    """512 MiB of zeros, in half a megabyte."""
    replace(file, path, shape=(128 * MIBS,), dtype="f4", chunks=(MIBS,), compression="gzip", compression_opts=9)
    file[path].write_direct(numpy.zeros(4 * MIBS, "f4"), dest_sel=numpy.s_[: 4 * MIBS])
    _, chunk = file[path].id.read_direct_chunk((0,))
    for at in range(4, 128):
        file[path].id.write_direct_chunk((at * MIBS,), chunk)


def many_groups(file, path):
    inner = file.create_group("many").id
    for i in range(100_000):
        h5py.h5g.create(inner, b"%d" % i)


def deep_groups(file, path):
    group = file.create_group("deep").id
    for _ in range(5_000):
        group = h5py.h5g.create(group, b"d")


def unknown_filter(file, path):
    dataset = low_level(file, path, (4,), lambda p: p.set_filter(32015, h5py.h5z.FLAG_OPTIONAL), chunk=(4,))
    dataset.write_direct_chunk((0,), b"0123456789abcdef")


def attribute_loops(file, path):
    """References from an object to itself and to those that refer to it, and a thousand more."""
    file[path].attrs["self"] = file[path].ref
    file[path].attrs["parent"] = file["/"].ref
    file["/"].attrs["child"] = file[path].ref
    for i in range(1000):
        file["/"].attrs[f"a{i}"] = file[path].ref


def not_a_number(file, path):
    file[path][...] = numpy.full(file[path].shape, numpy.nan)


def infinite(file, path):
    file[path][...] = numpy.full(file[path].shape, -numpy.inf)


def compound(file, path):
    replace(file, path, shape=(4,), dtype=[("a", "f4"), ("b", "i8")])


def variable_length(file, path):
    replace(file, path, shape=(4,), dtype=h5py.vlen_dtype("f4"))


def references(file, path):
    replace(file, path, shape=(1,), dtype=h5py.ref_dtype)


def named_type(file, path):
    file["type"] = numpy.dtype("f4")
    replace(file, path, data=file[path][...], dtype=file["type"])


NO_MEMORY = "needs more memory"

# What the reader of a sealed checkpoint, that of foreign weights, and that of data say; None: it does no harm there.
HOSTILE = {
    soft_link: ("is a soft link", "is a soft or external link", "is reached through a soft or external link"),
    dangling_link: ("is a soft link", "is a soft or external link", "is reached through a soft or external link"),
    link_to_itself: ("is a soft link", "is a soft or external link", "is reached through a soft or external link"),
    external_link: ("may be external", "is a soft or external link", "is reached through a soft or external link"),
    external_group: ("may be external", "is a soft or external link", "is reached through a soft or external link"),
    loop_of_groups: ("is the same object as", "is linked twice", None),
    linked_twice: ("is the same object as", "is linked twice", None),
    external_storage: ("its data are in another file", "keeps its values in another file", "keeps its values in another file"),
    virtual: ("is virtual", "is virtual", "is virtual"),
    shape_bomb: ("needs more bytes than the file has", "declares more values", "declares more values"),
    overflowing_shape: ("is chunked", "declares more values", "declares more values"),
    chunked_shape_bomb: ("is chunked", "declares more values", "declares more values"),
    deflate_bomb: ("has filters", NO_MEMORY, "has 200 rows, the first column has 134217728"),
    many_groups: ("does not belong in a checkpoint", "holds more than 10000 objects", None),
    deep_groups: ("is nested deeper", "is nested too deep", None),
    unknown_filter: ("has filters", "uses a filter other than", "uses a filter other than"),
    attribute_loops: (None, None, None),  # nobody reads attributes
    not_a_number: ("is not finite", "is not finite", "is not finite"),
    infinite: ("is not finite", "is not finite", "is not finite"),
    compound: ("its type must be", "holds neither numbers nor strings", "holds neither numbers nor strings"),
    variable_length: ("its type must be", "holds neither numbers nor strings", "holds neither numbers nor strings"),
    references: ("its type must be", "holds neither numbers nor strings", "holds neither numbers nor strings"),
    named_type: ("shares a header message", None, None),
}
