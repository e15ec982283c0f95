// The layout of a checkpoint as other programs see it, read by libhdf5.
#include <gtest/gtest.h>
#define H5_USE_110_API  // as in storage/hdf5/foreign_hdf5.cpp
#include <hdf5.h>
#include <support/checkpoints.hpp>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {
namespace {

using Names = std::vector<std::string>;

/// A checkpoint as libhdf5 opens it.
class Opened {
 public:
  explicit Opened(const Checkpoint& checkpoint) : bytes_(to_hdf5(checkpoint)) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_file_image(access, bytes_.data(), bytes_.size());  // the seal included
    file_ = H5Fopen("opened", H5F_ACC_RDONLY, access);
  }
  ~Opened() { H5Fclose(file_); }

  operator hid_t() const { return file_; }

  bool has(const char* group, const std::string& attribute) const {
    return H5Aexists_by_name(file_, group, attribute.c_str(), H5P_DEFAULT) > 0;
  }

  /// An attribute of strings of one length; adds its size to `bytes`.
  Names names(const char* group, const std::string& attribute, std::size_t* bytes = nullptr) const {
    const hid_t id = H5Aopen_by_name(file_, group, attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(id, 0) << attribute;
    const hid_t type = H5Aget_type(id);
    EXPECT_EQ(H5Tis_variable_str(type), 0);
    const std::size_t length = H5Tget_size(type);
    const std::size_t count = std::size_t(H5Sget_simple_extent_npoints(H5Aget_space(id)));
    std::string text(count * length, '\0');
    EXPECT_GE(H5Aread(id, type, text.data()), 0);
    Names names;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = text.substr(i * length, length);
      names.push_back(name.substr(0, name.find('\0')));
    }
    if (bytes != nullptr) *bytes = text.size();
    return names;
  }

  template <class T>
  std::vector<T> values(const char* path, hid_t type, std::size_t count) const {
    std::vector<T> values(count);
    const hid_t dataset = H5Dopen2(file_, path, H5P_DEFAULT);
    EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << path;
    return values;
  }

 private:
  std::string bytes_;
  hid_t file_;
};

TEST(CheckpointLayout, KerasNamesLeadToEveryWeight) {
  const Checkpoint checkpoint = test::small_checkpoint();
  const Opened file(checkpoint);
  EXPECT_EQ(file.names("/", "layer_names"),
            (Names{"encoder.layers.0.attention", "encoder.layers.0.norm1", "head"}));
  EXPECT_EQ(file.names("/encoder.layers.0.attention", "weight_names"),
            (Names{"in_proj_weight", "in_proj_bias"}));
  EXPECT_EQ(file.names("/head", "weight_names"), (Names{"scale", "weight"}));
}

TEST(CheckpointLayout, ValuesAreThere) {
  const Checkpoint checkpoint = test::small_checkpoint();
  const Opened file(checkpoint);
  const auto& weight = std::get<Tensor<float>>(checkpoint.parameters[0].tensor);
  EXPECT_EQ(file.values<float>("/encoder.layers.0.attention/in_proj_weight", H5T_NATIVE_FLOAT, 6),
            std::vector<float>(weight.begin(), weight.end()));
  EXPECT_EQ(file.values<std::uint64_t>("/trainer/step", H5T_NATIVE_UINT64, 1)[0], 1200);
  EXPECT_EQ(file.values<std::int64_t>("/trainer/state/epoch", H5T_NATIVE_INT64, 1)[0], -3);
  EXPECT_EQ(file.values<double>("/trainer/state/best_loss", H5T_NATIVE_DOUBLE, 1)[0], 0.1);
}

TEST(CheckpointLayout, EveryDatasetIsContiguousAndUnfiltered) {
  const Opened file(test::small_checkpoint());
  int datasets = 0;
  const auto check = [](hid_t id, const char* path, const H5O_info_t* info, void* count) -> herr_t {
    EXPECT_EQ(info->ctime, 0) << path;
    if (info->type != H5O_TYPE_DATASET) return 0;
    const hid_t list = H5Dget_create_plist(H5Dopen2(id, path, H5P_DEFAULT));
    EXPECT_EQ(H5Pget_layout(list), H5D_CONTIGUOUS) << path;
    EXPECT_EQ(H5Pget_nfilters(list), 0) << path;
    ++*static_cast<int*>(count);
    return 0;
  };
  EXPECT_EQ(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, check, &datasets, H5O_INFO_ALL), 0);
  EXPECT_EQ(datasets, 5 + 5 + 5 + 4);
}

// Its links take a tree of three levels.
TEST(CheckpointLayout, EveryTensorOfALargeGroupIsFound) {
  Checkpoint checkpoint;
  for (int i = 0; i < 9000; ++i) {
    checkpoint.optimizer.push_back({"slot." + std::to_string(i), full<float>({1}, float(i))});
  }
  const Opened file(checkpoint);
  for (int i = 0; i < 9000; ++i) {
    const std::string path = "/optimizer/slot/" + std::to_string(i);
    ASSERT_EQ(file.values<float>(path.c_str(), H5T_NATIVE_FLOAT, 1)[0], float(i)) << path;
  }
  EXPECT_LE(H5Lexists(file, "/optimizer/slot/9000", H5P_DEFAULT), 0);
  EXPECT_EQ(test::difference(from_hdf5(to_hdf5(checkpoint), "memory"), checkpoint), "");
}

TEST(CheckpointLayout, LongListsOfNamesAreSplitAsKerasSplitsThem) {
  Checkpoint checkpoint;
  Names modules;
  for (int i = 0; i < 700; ++i) {
    modules.push_back(std::string(300, 'm') + "." + std::to_string(1000 + i));
    checkpoint.parameters.push_back({modules.back() + ".weight", full<float>({1}, float(i))});
  }
  const Opened file(checkpoint);
  EXPECT_FALSE(file.has("/", "layer_names"));
  Names found;
  int parts = 0;
  for (; file.has("/", "layer_names" + std::to_string(parts)); ++parts) {
    std::size_t bytes = 0;
    for (const std::string& name : file.names("/", "layer_names" + std::to_string(parts), &bytes)) {
      found.push_back(name);
    }
    EXPECT_LE(bytes, 64512);
  }
  EXPECT_EQ(found, modules);
  EXPECT_EQ(parts, 4);  // 213,500 bytes
}

}  // namespace
}  // namespace xgrad
