// C6: files that anyone could make, with digests that hold, since anyone can compute those.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <cmath>
#include <ctime>
#include <functional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>

namespace xgrad {
namespace {

using test::difference;
using test::message_of;
using test::small_checkpoint;
using Edit = std::function<void(hid_t file)>;

std::string seal(const std::string& payload, std::uint32_t minor = kFormatMinor) {
  return payload + make_seal({.payload = payload, .minor = minor, .step = 1200}, sha256(payload));
}

std::string payload_of(const Checkpoint& checkpoint) {
  const std::string bytes = to_hdf5(checkpoint);
  return bytes.substr(0, bytes.size() - kSealSize);
}

hid_t in_memory() {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 16, false);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  return access;
}

std::string close_to_image(hid_t file) {
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  std::string image(std::size_t(H5Fget_file_image(file, nullptr, 0)), '\0');
  H5Fget_file_image(file, image.data(), image.size());
  H5Fclose(file);
  return image;
}

/// A good checkpoint as another program would change it, sealed again.
std::string edited(const Edit& edit, std::uint32_t minor = kFormatMinor) {
  std::string payload = payload_of(small_checkpoint());
  const hid_t access = in_memory();
  H5Pset_file_image(access, payload.data(), payload.size());
  const hid_t file = H5Fopen("edited", H5F_ACC_RDWR, access);
  edit(file);
  return seal(close_to_image(file), minor);
}

std::string refusal(const std::string& bytes) {
  const std::clock_t start = std::clock();
  std::string message = message_of<CheckpointError>([&] { from_hdf5(bytes, "a.h5"); });
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  return message;
}

std::string refusal(const Edit& edit, std::uint32_t minor = kFormatMinor) {
  return refusal(edited(edit, minor));
}

void remove(hid_t file, const char* path) {
  H5Ldelete(file, path, H5P_DEFAULT);
}

void add_group(hid_t file, const char* path) {
  H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

hid_t plain() {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, false);
  return creation;
}

/// A dataset of this type and shape, filled with zero bytes unless `stored` is false.
void add(hid_t file, const char* path, hid_t type, const std::vector<hsize_t>& shape,
         hid_t creation = plain(), bool stored = true) {
  const hid_t space = H5Screate_simple(int(shape.size()), shape.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  ASSERT_GE(dataset, 0) << path;
  const std::vector<char> zeros(4096);
  const herr_t written =
      stored ? H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()) : 0;
  ASSERT_GE(written, 0) << path;
  H5Dclose(dataset);
}

void replace(hid_t file, const char* path, hid_t type, const std::vector<hsize_t>& shape,
             hid_t creation = plain(), bool stored = true) {
  remove(file, path);
  add(file, path, type, shape, creation, stored);
}

constexpr const char* kWeight = "/head/weight";

TEST(CheckpointHostile, AnUnchangedOneStillLoads) {
  const std::string same = edited([](hid_t) {});
  EXPECT_EQ(difference(from_hdf5(same, "a.h5"), small_checkpoint()), "");
}

TEST(CheckpointHostile, C6_SoftLinks) {
  EXPECT_EQ(refusal([](hid_t file) {
              remove(file, kWeight);
              H5Lcreate_soft("/head/scale", file, kWeight, H5P_DEFAULT, H5P_DEFAULT);
            }),
            "a.h5: /head: its link /head/weight is a soft link; a checkpoint has none");
  EXPECT_EQ(refusal([](hid_t file) {
              H5Lmove(file, "/head", file, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT);
              H5Lcreate_soft("/elsewhere", file, "/head", H5P_DEFAULT, H5P_DEFAULT);
            }),
            "a.h5: /: its link /head is a soft link; a checkpoint has none");
}

TEST(CheckpointHostile, C6_ExternalLink) {
  EXPECT_EQ(refusal([](hid_t file) {
              remove(file, kWeight);
              H5Lcreate_external("/etc/hostname", "/", file, kWeight, H5P_DEFAULT, H5P_DEFAULT);
            }),
            "a.h5: /head: has links of a kind that may be external");
}

TEST(CheckpointHostile, C6_ObjectsLinkedTwice) {
  EXPECT_EQ(refusal([](hid_t file) {
              remove(file, kWeight);
              H5Lcreate_hard(file, "/head/scale", file, kWeight, H5P_DEFAULT, H5P_DEFAULT);
            }),
            "a.h5: /head/weight: is the same object as /head/scale");
  EXPECT_EQ(refusal([](hid_t file) {
              H5Lcreate_hard(file, "/", file, "/head/loop", H5P_DEFAULT, H5P_DEFAULT);
            }),
            "a.h5: /head/loop: is the same object as /");
}

TEST(CheckpointHostile, C6_DataElsewhere) {
  EXPECT_EQ(refusal([](hid_t file) {
              const hid_t creation = plain();
              H5Pset_external(creation, "/etc/hostname", 0, 32);
              replace(file, kWeight, H5T_IEEE_F64LE, {1, 4}, creation, false);
            }),
            "a.h5: /head/weight: its data are in another file");
  EXPECT_EQ(refusal([](hid_t file) {
              const hid_t creation = plain();
              const hsize_t shape[] = {1, 4};
              const hid_t space = H5Screate_simple(2, shape, nullptr);
              H5Pset_virtual(creation, space, "/etc/hostname", "/a", space);
              replace(file, kWeight, H5T_IEEE_F64LE, {1, 4}, creation, false);
            }),
            "a.h5: /head/weight: is virtual, not contiguous");
}

TEST(CheckpointHostile, C6_OtherLayouts) {
  const auto with = [](auto set) {
    return refusal([&](hid_t file) {
      const hid_t creation = plain();
      set(creation);
      replace(file, kWeight, H5T_IEEE_F64LE, {1, 4}, creation);
    });
  };
  const hsize_t chunk[] = {1, 2};
  EXPECT_EQ(with([&](hid_t creation) { H5Pset_chunk(creation, 2, chunk); }),
            "a.h5: /head/weight: is chunked, not contiguous");
  EXPECT_EQ(with([](hid_t creation) { H5Pset_layout(creation, H5D_COMPACT); }),
            "a.h5: /head/weight: is compact, not contiguous");
  EXPECT_EQ(with([&](hid_t creation) {
              H5Pset_chunk(creation, 2, chunk);
              H5Pset_deflate(creation, 9);
            }),
            "a.h5: /head/weight: has filters, such as compression");
  EXPECT_EQ(with([&](hid_t creation) {
              H5Pset_chunk(creation, 2, chunk);
              H5Pset_fletcher32(creation);
            }),
            "a.h5: /head/weight: has filters, such as compression");
}

TEST(CheckpointHostile, C6_ShapesWithoutData) {
  const hsize_t tera = hsize_t{1} << 40;
  const auto with = [](const std::vector<hsize_t>& shape) {
    return refusal(
        [&](hid_t file) { replace(file, kWeight, H5T_IEEE_F64LE, shape, plain(), false); });
  };
  EXPECT_EQ(with({tera}),
            "a.h5: /head/weight: shape (1099511627776) needs more bytes than the file has");
  EXPECT_EQ(with({tera, tera}).substr(0, 26), "a.h5: /head/weight: shape ");
  EXPECT_EQ(with({100, 100}),
            "a.h5: /head/weight: shape (100, 100) needs more bytes than the file has");
  EXPECT_EQ(with({4}).substr(0, 34), "a.h5: /head/weight: points outside");
}

TEST(CheckpointHostile, AnotherShapeIsForTheModelToRefuse) {
  const std::string bytes = edited([](hid_t file) { replace(file, kWeight, H5T_IEEE_F64LE, {4}); });
  EXPECT_EQ(std::get<Tensor<double>>(from_hdf5(bytes, "a.h5").parameters[4].tensor).shape(),
            Shape{4});
}

TEST(CheckpointHostile, C5_OtherTypes) {
  const std::string wrong =
      "a.h5: /head/weight: its type must be little-endian float32, float64, int64 or uint64, or "
      "text";
  const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_precision(half, 16);
  H5Tset_size(half, 2);
  for (const hid_t type : {half, hid_t{H5T_IEEE_F64BE}, hid_t{H5T_IEEE_F32BE}, hid_t{H5T_STD_I32LE},
                           hid_t{H5T_STD_U64BE}, hid_t{H5T_STD_B64LE}, hid_t{H5T_C_S1}}) {
    EXPECT_EQ(refusal([&](hid_t file) { replace(file, kWeight, type, {1, 4}); }), wrong);
  }
  EXPECT_EQ(refusal([](hid_t file) {
              replace(file, kWeight, H5T_STD_I64LE, {1, 4});
            }),
            "a.h5: /head/weight: its type is neither float32 nor float64");
}

TEST(CheckpointHostile, C5_NotFinite) {
  for (const double bad : {std::nan(""), -std::nan(""), double(INFINITY), -double(INFINITY)}) {
    EXPECT_EQ(refusal([&](hid_t file) {
                const hid_t dataset = H5Dopen2(file, kWeight, H5P_DEFAULT);
                const double values[] = {1, 2, bad, 4};
                H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
              }),
              "a.h5: /head/weight: entry 2 of shape (1, 4) is not finite");
  }
  EXPECT_EQ(refusal([](hid_t file) {
              const hid_t dataset = H5Dopen2(file, "/trainer/state/best_loss", H5P_DEFAULT);
              const double value = std::nan("");
              H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
            }),
            "a.h5: state best_loss is NaN");
}

TEST(CheckpointHostile, C6_UnknownAndMissingObjects) {
  for (const char* path :
       {"/extra", "/trainer/extra", "/trainer/state/group", "/optimizer/slot", "/head/sub"}) {
    EXPECT_EQ(refusal([&](hid_t file) { add_group(file, path); }),
              std::string("a.h5: ") + path + " does not belong in a checkpoint");
  }
  for (const char* path : {"/extra", "/trainer/extra", "/head/extra", "/optimizer/exp_avg/extra"}) {
    EXPECT_EQ(refusal([&](hid_t file) { add(file, path, H5T_IEEE_F32LE, {1}); }),
              std::string("a.h5: ") + path + " does not belong in a checkpoint");
  }
  for (const char* path :
       {"/trainer", "/trainer/step", "/trainer/config", "/trainer/parameters", "/trainer/writer",
        "/trainer/optimizer", "/trainer/state", "/optimizer", "/head", kWeight}) {
    const std::string message = refusal([&](hid_t file) { remove(file, path); });
    EXPECT_TRUE(message.starts_with("a.h5: /") && message.ends_with(" is missing")) << message;
  }
  EXPECT_EQ(refusal([](hid_t file) {
              remove(file, kWeight);
              add_group(file, kWeight);
            }),
            "a.h5: /head/weight is not a dataset");
}

TEST(CheckpointHostile, C6_OtherState) {
  EXPECT_EQ(refusal([](hid_t file) { replace(file, "/trainer/state/epoch", H5T_STD_I64LE, {2}); }),
            "a.h5: /trainer/state/epoch: has shape (2), not one value");
  EXPECT_EQ(refusal([](hid_t file) { replace(file, "/trainer/config", H5T_STD_I64LE, {1}); }),
            "a.h5: /trainer/config: its type must be int64, float64 or text");
  EXPECT_EQ(refusal([](hid_t file) {
              const hid_t variable = H5Tcopy(H5T_C_S1);
              H5Tset_size(variable, H5T_VARIABLE);
              replace(file, "/trainer/config", variable, {1}, plain(), false);
            }),
            "a.h5: /trainer/config: its type must be little-endian float32, float64, int64 or "
            "uint64, or text");
  EXPECT_EQ(refusal([](hid_t file) {
              const hid_t dataset = H5Dopen2(file, "/trainer/step", H5P_DEFAULT);
              const std::uint64_t step = 7;
              H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &step);
            }),
            "a.h5: /trainer/step is 7, but the seal says 1200");
  EXPECT_EQ(refusal([](hid_t file) { add(file, "/trainer/state/a b", H5T_STD_I64LE, {1}); }),
            "a.h5: 'a b' is not a valid name for an entry of a checkpoint");
}

TEST(CheckpointHostile, C6_NewerFileFormatOfHdf5) {
  const hid_t access = in_memory();
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate("latest", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  EXPECT_EQ(refusal(seal(close_to_image(file))), "a.h5: has no superblock of version 0 at 0");
}

TEST(CheckpointHostile, C6_ManyGroupsAndDeepOnes) {
  EXPECT_NE(refusal([](hid_t file) {
              for (int i = 0; i < 3'000; ++i) add_group(file, ("/g" + std::to_string(i)).c_str());
            }).find(" does not belong in a checkpoint"),
            std::string::npos);
  EXPECT_EQ(refusal([](hid_t file) {
              for (std::string path = "/a"; path.size() < 2000; path += "/a")
                add_group(file, path.c_str());
            }),
            "a.h5: /a/a/a/a: is nested deeper than anything in a checkpoint");
}

TEST(CheckpointHostile, C5_NewerMinorMayAddUnderTrainerOnly) {
  const auto add_later = [](hid_t file) {
    add_group(file, "/trainer/later");
    add(file, "/trainer/later/thing", H5T_IEEE_F32LE, {3});
    add(file, "/trainer/another", H5T_STD_I64LE, {1});
  };
  EXPECT_EQ(difference(from_hdf5(edited(add_later, kFormatMinor + 1), "a.h5"), small_checkpoint()),
            "");
  EXPECT_EQ(refusal([](hid_t file) { add_group(file, "/later"); }, kFormatMinor + 1),
            "a.h5: /later does not belong in a checkpoint");
}

TEST(CheckpointHostile, C6_WhatIsNoHdf5) {
  EXPECT_EQ(refusal(seal("")), "a.h5: points outside of the file: 16 bytes at 0 of 0");
  EXPECT_EQ(refusal(seal(std::string(1000, 'x'))), "a.h5: has no superblock of version 0 at 0");
  const std::string payload = payload_of(small_checkpoint());
  for (std::size_t size = 0; size < payload.size(); size += 37) {
    EXPECT_NE(refusal(seal(payload.substr(0, size))), "none") << size;
  }
  EXPECT_NE(refusal(seal(payload + "x")).find("bytes, not"), std::string::npos);
}

// Every refusal is an exception, whatever the bytes: a short run of what a fuzzer does for long.
TEST(CheckpointHostile, C6_RandomEditsAreRefusedOrHarmless) {
  const std::string payload = payload_of(small_checkpoint());
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    if (payload[i] != '\0') used.push_back(i);
  }
  const Rng rng(1);
  std::uint64_t draws = 0;
  const auto below = [&](std::size_t bound) { return std::size_t(rng.below(bound, draws++)); };
  int loaded = 0;
  const int trials = test::random_edits(20'000);
  for (int trial = 0; trial < trials; ++trial) {
    std::string bytes = payload;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = used[below(used.size())];
      const std::uint64_t address = below(payload.size()) & ~std::uint64_t{7};
      if (below(2) == 0) {
        bytes[at] = char(below(256));
      } else if (at + 8 <= bytes.size()) {
        bytes.replace(at, 8, reinterpret_cast<const char*>(&address), 8);
      }
    }
    try {
      from_hdf5(seal(bytes), "a.h5");
      ++loaded;
    } catch (const CheckpointError&) {
    }
  }
  EXPECT_GT(loaded, 0) << "attributes and unused bytes are not read";
  EXPECT_LT(loaded, trials / 2);
}

}  // namespace
}  // namespace xgrad
