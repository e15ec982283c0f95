// Readers for weights in untrusted files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

class InputFile;
struct NamedWork;

/// The known formats: "safetensors", "npz" and "hdf5".
std::vector<std::string> foreign_formats();

/// Reads a whole file in one of these formats, up to 4 GiB. First checks the header or directory;
/// if it is not of the format, reads no more. Throws IoError, or CheckpointError with the path of
/// the file.
std::string read_foreign_file(const InputFile& file, const std::string& format);

/// Parses the bytes of a file in one of these formats into tensors. A child process does the work:
/// it can open no files, and uses little more memory than the file and `expected` numbers need.
///
/// In HDF5 every dataset is a tensor, in any groups: /encoder.layers.0.norm1/weight,
/// /encoder/layers/0/norm1/weight and a dataset of that full name are all
/// encoder.layers.0.norm1.weight. The groups /trainer and /optimizer are skipped, because xgrad
/// keeps no weights in them.
///
/// Throws IoError if no process can be started; CheckpointError, with `path`, if the file is
/// malformed or a tensor is not float32 or float64 or contains NaN or infinity.
std::vector<NamedTensor> read_foreign(const std::string& bytes, const std::string& path,
                                      const std::string& format, std::size_t expected);

/// Does the work of the processes of this file's functions; see isolated.hpp.
std::string do_foreign_work(const NamedWork& named);

}  // namespace xgrad
