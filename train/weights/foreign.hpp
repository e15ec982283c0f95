// Readers for weights in untrusted files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

class InputFile;
struct NamedWork;

/// The known formats: "safetensors", "npz" and "hdf5".
std::vector<std::string> foreign_formats();

/// Reads the tensors of a file in one of foreign_formats(), of up to 4 GiB, in a child process that
/// can open no files. The child's memory limit grows with the size of the file and with `expected`,
/// the number of scalars that the model needs. In HDF5, every dataset outside of /trainer and
/// /optimizer is a tensor. Its name is the path with dots for slashes:
/// /encoder.layers.0.norm1/weight and /encoder/layers/0/norm1/weight are both
/// encoder.layers.0.norm1.weight.
///
/// Throws IoError if no process can be started or the file changes meanwhile. Throws
/// CheckpointError with the path if the file is malformed, or if a tensor holds NaN or infinity or
/// is neither float32 nor float64.
std::vector<NamedTensor> read_foreign(const InputFile& file, const std::string& format,
                                      std::size_t expected);

/// The function that read_foreign() and Hdf5File run in a child process; see isolated.hpp.
std::string do_foreign_work(const NamedWork& named);

}  // namespace xgrad
