// Weights in a file that anyone may have made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

class InputFile;

/// "safetensors", "npz" and "hdf5".
std::vector<std::string> foreign_formats();

/// Reads a whole file of one of these formats, once its header, or what it begins and ends with,
/// shows that it may be one: nothing else is read of a file that is not. Throws IoError;
/// CheckpointError, with the file's path.
std::string read_foreign_file(const InputFile& file, const std::string& format);

/// Reads the tensors in the bytes of a file in one of these formats, in a process of its own that
/// can open nothing and takes little more memory than the file and `expected` numbers need.
///
/// Of HDF5 every dataset is one, in whatever groups: /encoder.layers.0.norm1/weight,
/// /encoder/layers /0/norm1/weight and a dataset of that full name are
/// encoder.layers.0.norm1.weight; only /trainer and /optimizer, where xgrad keeps what are no
/// weights, are left alone.
///
/// Throws IoError where no process can be had; CheckpointError, with the file's `path`, on what is
/// malformed, is neither float32 nor float64, or is not finite.
std::vector<NamedTensor> read_foreign(const std::string& bytes, const std::string& path,
                                      const std::string& format, std::size_t expected);

}  // namespace xgrad
