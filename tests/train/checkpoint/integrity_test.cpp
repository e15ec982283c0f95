// C3: whatever happens to the bytes of a checkpoint, its digests notice before anything else reads
// it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <filesystem>
#include <fstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>

namespace xgrad {
namespace {

using test::message_of;
using test::small_checkpoint;
using test::TemporaryDirectory;

// Whether the seal, which is looked at first, refuses the file.
bool seal_refuses(std::string_view bytes) {
  try {
    open_seal(bytes);
  } catch (const CheckpointError&) {
    return true;
  }
  return false;
}

std::string refusal(const std::string& bytes) {
  return message_of<CheckpointError>([&] { from_hdf5(bytes, "a.h5"); });
}

TEST(CheckpointIntegrity, C3_EveryBitFlipIsRefused) {
  std::string bytes = to_hdf5(small_checkpoint());
  ASSERT_FALSE(seal_refuses(bytes));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= char(1 << bit % 8);
    ASSERT_TRUE(seal_refuses(bytes)) << "bit " << bit;
    bytes[bit / 8] ^= char(1 << bit % 8);
  }
}

TEST(CheckpointIntegrity, C3_EveryTruncationIsRefused) {
  const std::string bytes = to_hdf5(small_checkpoint());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_TRUE(seal_refuses(std::string_view(bytes).substr(0, size))) << size << " bytes";
  }
}

TEST(CheckpointIntegrity, C3_EveryAppendedByteIsRefused) {
  const std::string bytes = to_hdf5(small_checkpoint());
  for (int byte = 0; byte < 256; ++byte) {
    ASSERT_TRUE(seal_refuses(bytes + char(byte))) << byte;
    ASSERT_TRUE(seal_refuses(char(byte) + bytes)) << byte << " in front";
  }
  EXPECT_TRUE(seal_refuses(bytes + bytes));
}

TEST(CheckpointIntegrity, C3_LargerEditsAreRefused) {
  const std::string bytes = to_hdf5(small_checkpoint());
  const Rng rng(1);
  std::uint64_t draws = 0;
  const auto below = [&](std::size_t bound) { return std::size_t(rng.below(bound, draws++)); };
  for (int trial = test::random_edits(5000); trial > 0; --trial) {
    std::string edited = bytes;
    const std::size_t size = 1 + below(64), at = below(bytes.size() - size);
    switch (below(3)) {
      case 0:
        std::fill_n(edited.begin() + at, size, char(below(2) == 0 ? 0 : 255));
        break;
      case 1:
        std::generate_n(edited.begin() + at, size, [&] { return char(below(256)); });
        break;
      default:
        std::rotate(edited.begin() + at, edited.begin() + at + below(size),
                    edited.begin() + at + size);
    }
    ASSERT_TRUE(edited == bytes || seal_refuses(edited)) << size << " bytes at " << at;
  }
  std::string swapped = bytes;
  std::swap_ranges(swapped.begin(), swapped.begin() + 4096, swapped.begin() + 4096);
  EXPECT_TRUE(seal_refuses(swapped));
}

TEST(CheckpointIntegrity, RefusalsSayWhatIsWrong) {
  const std::string good = to_hdf5(small_checkpoint());
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  EXPECT_EQ(refusal(flipped), "a.h5: damaged: the payload's SHA-256 is not the one in the seal");
  std::string scratched = good;
  scratched[good.size() - 300] ^= 1;
  EXPECT_EQ(refusal(scratched), "a.h5: damaged: the seal does not match its own digest");
  EXPECT_EQ(refusal("x" + good),
            "a.h5: damaged: the seal is for " + std::to_string(good.size() - 512) +
                " bytes, but the file has " + std::to_string(good.size() - 511));
  const std::string changed =
      "a.h5: changed since xgrad wrote it, cut short, or not written by xgrad: an HDF5 file "
      "without xgrad's seal at "
      "its end (programs that open it for writing cut the seal off)";
  EXPECT_EQ(refusal(good.substr(0, good.size() - 512)), changed);
  EXPECT_EQ(refusal(good.substr(0, 100)), changed);
  EXPECT_EQ(refusal(""), "a.h5: is empty, 0 bytes");
  EXPECT_EQ(refusal("hello"),
            "a.h5: too short for a checkpoint: 5 bytes, and a seal alone has 512");
  EXPECT_EQ(
      refusal(std::string(4096, 'x')),
      "a.h5: not a checkpoint of xgrad: neither an HDF5 file nor sealed; `xgrad import` makes "
      "one from a config and the weights of another program");
}

TEST(CheckpointIntegrity, C5_WhatIsNoFileIsRefused) {
  const TemporaryDirectory directory;
  const auto refusal = [](const std::string& path) {
    return message_of<IoError>([&] { load_checkpoint(path); });
  };
  EXPECT_EQ(refusal(directory.path()), directory.path() + ": is a directory, not a file");
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal(directory / "fifo"), directory / "fifo" + ": is not a regular file");
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: is not a regular file");
  std::filesystem::create_symlink("loop", directory / "loop");
  EXPECT_EQ(refusal(directory / "loop"),
            directory / "loop" + ": cannot open: Too many levels of symbolic links");
  EXPECT_EQ(refusal(directory / "none"),
            directory / "none" + ": cannot open: No such file or directory");
}

#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer ends the program when new finds no memory
TEST(CheckpointIntegrity, C5_WhatDoesNotFitIntoMemoryIsRefused) {
  const TemporaryDirectory directory;
  directory.write("enormous", "");
  std::filesystem::resize_file(directory / "enormous", std::uintmax_t{1} << 43);
  EXPECT_EQ(message_of<IoError>([&] { read_file(directory / "enormous"); }),
            directory / "enormous" + ": does not fit into memory: 8796093022208 bytes");
}
#endif

// Larger than any memory: to read it would be an IoError.
TEST(CheckpointIntegrity, C5_WhatHasNoSealIsRefusedUnread) {
  const TemporaryDirectory directory;
  const std::string path = directory / "enormous", good = to_hdf5(small_checkpoint());
  const auto refusal = [&](const std::string& start, const std::string& end) {
    directory.write("enormous", start);
    std::filesystem::resize_file(path, (std::uintmax_t{1} << 43) - end.size());
    std::ofstream(path, std::ios::app) << end;
    const std::string why = message_of<CheckpointError>([&] { load_checkpoint(path); });
    EXPECT_EQ(find_damage(path), why);
    return why.substr(path.size());
  };
  EXPECT_TRUE(
      refusal("", "").starts_with(": not a checkpoint of xgrad: neither an HDF5 file nor sealed;"));
  EXPECT_TRUE(refusal(good, "").starts_with(": changed since xgrad wrote it, cut short"));
  const std::string seal = good.substr(good.size() - kSealSize);
  EXPECT_EQ(refusal("", seal), ": damaged: the seal is for " +
                                   std::to_string(good.size() - kSealSize) +
                                   " bytes, but the file has 8796093021696");
  EXPECT_EQ(refusal("", seal.substr(0, 500) + std::string(12, 'x')),
            ": damaged: the seal does not match its own digest");
}

TEST(CheckpointIntegrity, C5_AnotherMajorIsRefusedByItsVersion) {
  const std::string payload = to_hdf5(small_checkpoint());
  const auto of = [&](std::uint32_t major) {
    return payload + make_seal({.payload = payload, .major = major, .minor = 7, .step = 1200},
                               sha256(payload));
  };
  EXPECT_EQ(refusal(of(0)), "a.h5: written by format 0.7; this xgrad reads format 1.x");
  EXPECT_EQ(refusal(of(2)),
            "a.h5: needs a newer xgrad: written by format 2.7; this one reads format 1.x");
}

class CheckpointDirectory : public testing::Test {
 protected:
  std::string save(std::uint64_t step) {
    Checkpoint c = small_checkpoint();
    c.step = step;
    const DigestedFile file = to_hdf5_file(c);
    digests_[step] = file.sha256;
    publish(directory_.path(), checkpoint_name(step), file.bytes);
    return directory_ / checkpoint_name(step);
  }
  void damage(const std::string& path) {
    std::string bytes = read_file(path);
    bytes[1000] ^= 1;
    directory_.write(std::filesystem::path(path).filename().string(), bytes);
  }
  std::vector<std::uint64_t> steps() const {
    std::vector<std::uint64_t> steps;
    for (const CheckpointFile& file : list_checkpoints(directory_.path()))
      steps.push_back(file.step);
    return steps;
  }
  // Writes the manifest of all checkpoints saved so far.
  void list_all() const {
    for (const auto& [step, digest] : digests_) {
      add_to_manifest(directory_.path(), checkpoint_name(step), digest);
    }
  }
  using Steps = std::vector<std::uint64_t>;
  TemporaryDirectory directory_;
  std::map<std::uint64_t, std::string> digests_;
};

TEST_F(CheckpointDirectory, ListsByStepAndNothingElse) {
  for (const std::uint64_t step : {20, 3, 100}) save(step);
  directory_.write("step-5.h5", "");
  directory_.write(".step-0000000007.h5.1.2.tmp", "");
  directory_.write("notes.txt", "");
  EXPECT_EQ(steps(), (Steps{3, 20, 100}));
  EXPECT_EQ(message_of<IoError>([&] { list_checkpoints(directory_ / "none"); }),
            directory_ / "none" + ": cannot open the directory: No such file or directory");
}

TEST_F(CheckpointDirectory, VerifiesWhatLoads) {
  const std::string path = save(3);
  EXPECT_EQ(find_damage(path), "");

  const std::string renamed = directory_ / checkpoint_name(4);
  std::filesystem::rename(path, renamed);
  EXPECT_EQ(find_damage(renamed), renamed + ": holds step 3, not the step in its name");
  damage(renamed);
  EXPECT_EQ(find_damage(renamed),
            renamed + ": damaged: the payload's SHA-256 is not the one in the seal");
  EXPECT_EQ(message_of<IoError>([&] { find_damage(path); }),
            path + ": cannot open: No such file or directory");
}

TEST_F(CheckpointDirectory, LatestSkipsTheDamagedAndReportsThem) {
  EXPECT_EQ(message_of<CheckpointError>([&] { latest_checkpoint(directory_.path()); }),
            directory_.path() + ": there is no checkpoint");
  const std::string older = save(1), newer = save(2), newest = save(3);
  EXPECT_EQ(latest_checkpoint(directory_.path()).file, newest);

  damage(newest);
  directory_.write(checkpoint_name(4), "");
  EXPECT_EQ(latest_checkpoint(directory_.path()).file, newer);

  damage(newer);
  damage(older);
  const auto said = [&] {
    return message_of<CheckpointError>([&] { latest_checkpoint(directory_.path()); });
  };
  const std::string payload = ": damaged: the payload's SHA-256 is not the one in the seal",
                    first = directory_.path() + ": no checkpoint can be loaded:\n  " +
                            directory_ / checkpoint_name(4) + ": is empty, 0 bytes\n  " + newest +
                            payload + "\n  " + newer + payload;
  EXPECT_EQ(said(), first + "\n  and 1 more");
  std::filesystem::remove(older);
  EXPECT_EQ(said(), first);
}

// A checkpoint of a newer format is not damaged, so an older one is not taken for the latest.
TEST_F(CheckpointDirectory, LatestSkipsNothingOfALaterFormat) {
  save(1);
  const std::string payload = to_hdf5(small_checkpoint());
  const std::string later = directory_.write(
      checkpoint_name(2),
      payload + make_seal({.payload = payload, .major = 2, .step = 2}, sha256(payload)));
  const std::string expected =
      later + ": needs a newer xgrad: written by format 2.0; this one reads format 1.x";
  EXPECT_EQ(message_of<NewerFormatError>([&] { latest_checkpoint(directory_.path()); }), expected);
  EXPECT_EQ(message_of<NewerFormatError>([&] { find_damage(later); }), expected);
  EXPECT_EQ(message_of<NewerFormatError>([&] { load_checkpoint(later); }), expected);
  for (const std::uint64_t step : {3, 4, 5}) save(step);
  list_all();
  prune(directory_.path(), 2, 0);
  EXPECT_EQ(steps(), (Steps{2, 4, 5})) << "it is not removed either";
}

TEST_F(CheckpointDirectory, LatestSkipsNothingThatItCannotRead) {
  save(1);
  std::filesystem::create_directory(directory_ / checkpoint_name(2));
  EXPECT_EQ(message_of<IoError>([&] { latest_checkpoint(directory_.path()); }),
            directory_ / checkpoint_name(2) + ": is a directory, not a file");
}

// A run that owes a validation lists the checkpoint that will take the place of this one.
TEST_F(CheckpointDirectory, WhatTheManifestListsMustBeWhatIsRead) {
  const std::string path = save(1), bytes = read_file(path);
  EXPECT_EQ(load_checkpoint(path).step, 1u) << "there is no manifest";
  const auto list = [&](const std::string& name, const std::string& content) {
    directory_.write(kManifest, manifest_line(name, content) + "\n");
  };
  list(checkpoint_name(2), "other");
  EXPECT_EQ(load_checkpoint(path).step, 1u) << "the name is not listed";
  list(checkpoint_name(1), bytes);
  EXPECT_EQ(load_checkpoint(path).step, 1u);
  EXPECT_EQ(find_damage(path), "");

  list(checkpoint_name(1), "other");
  const std::string said = message_of<CheckpointError>([&] { load_checkpoint(path); });
  EXPECT_TRUE(said.starts_with(path + ": is not the file that the run saved")) << said;
  EXPECT_EQ(find_damage(path), said);
  const auto latest = [&] { return latest_checkpoint(directory_.path()); };
  EXPECT_EQ(message_of<UnsavedError>(latest), said) << "it is refused, not passed over";
  const auto listed = [&] { return latest_checkpoint(directory_.path(), PassOver::unsaved); };
  EXPECT_EQ(message_of<CheckpointError>(listed),
            directory_.path() + ": no checkpoint can be loaded:\n  " + said);
  const std::string older = save(0);
  EXPECT_EQ(listed().file, older);
  std::filesystem::remove(older);

  std::string torn = manifest_line(checkpoint_name(1), bytes) + "\n";
  std::fill_n(torn.begin(), torn.size() / 2, '\0');
  directory_.write(kManifest, torn);
  EXPECT_EQ(load_checkpoint(path).step, 1u) << "a power failure left zeros in the line";

  list(checkpoint_name(1), "other");
  Checkpoint owing = from_hdf5(bytes, path);
  owing.state[kOwesValidation] = std::int64_t(1);
  directory_.write(checkpoint_name(1), to_hdf5(owing));
  EXPECT_EQ(load_checkpoint(path).step, 1u);
}

TEST_F(CheckpointDirectory, ALinkIsNoCheckpointOfARun) {
  const std::string path = save(1);
  std::filesystem::rename(path, directory_ / "moved");
  std::filesystem::create_symlink("moved", path);
  EXPECT_EQ(message_of<IoError>([&] { latest_checkpoint(directory_.path()); }),
            path + ": is a symbolic link, not a regular file");
  EXPECT_EQ(load_checkpoint(path).step, 1u) << "named by itself, it means what it leads to";
}

TEST_F(CheckpointDirectory, PruneKeepsTheNewestAndTheBest) {
  for (const std::uint64_t step : {1, 2, 3, 4, 5, 6}) save(step);
  EXPECT_TRUE(prune(directory_.path(), 3, 2).empty()) << "there is no manifest";
  list_all();
  const std::vector<std::string> removed = prune(directory_.path(), 3, 2);
  EXPECT_EQ(removed,
            (std::vector{directory_ / checkpoint_name(3), directory_ / checkpoint_name(1)}));
  EXPECT_EQ(steps(), (Steps{2, 4, 5, 6}));
  EXPECT_TRUE(prune(directory_.path(), 3, 2).empty());
}

TEST_F(CheckpointDirectory, PruneNeverKeepsFewerThanTwo) {
  for (const std::uint64_t step : {1, 2, 3}) save(step);
  list_all();
  prune(directory_.path(), 0, 3);
  EXPECT_EQ(steps(), (Steps{2, 3}));
}

TEST_F(CheckpointDirectory, PruneCountsAndRemovesOnlyWhatVerifies) {
  for (const std::uint64_t step : {1, 2, 3, 4, 5, 6}) save(step);
  list_all();
  directory_.write("notes.txt", "mine");
  damage(directory_ / checkpoint_name(6));
  damage(directory_ / checkpoint_name(2));
  prune(directory_.path(), 2, 0);
  EXPECT_EQ(steps(), (Steps{2, 4, 5, 6}));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "notes.txt"));
}

// Two whole ones and what goes: the others are not read, however many are kept.
TEST_F(CheckpointDirectory, PruneReadsNoMoreThanItMust) {
  for (const std::uint64_t step : {1, 2, 3, 4, 5, 6}) save(step);
  list_all();
  damage(directory_ / checkpoint_name(6));
  damage(directory_ / checkpoint_name(3));
  EXPECT_EQ(prune(directory_.path(), 3, 0),
            (std::vector{directory_ / checkpoint_name(2), directory_ / checkpoint_name(1)}));
  EXPECT_EQ(steps(), (Steps{3, 4, 5, 6}));
}

TEST_F(CheckpointDirectory, PruneTouchesOnlyWhatTheManifestVouchesFor) {
  std::string manifest = "torn li";
  for (const std::uint64_t step : {1, 2, 3, 4, 5, 6}) {
    const std::string bytes = read_file(save(step));
    const std::string line = manifest_line(checkpoint_name(step), step == 2 ? "other" : bytes);
    if (step != 4) manifest += "\n" + line;  // the fourth is another run's
  }
  directory_.write(kManifest, manifest + "\n");
  EXPECT_EQ(prune(directory_.path(), 2, 0),
            (std::vector{directory_ / checkpoint_name(3), directory_ / checkpoint_name(1)}));
  EXPECT_EQ(steps(), (Steps{2, 4, 5, 6}));
}

}  // namespace
}  // namespace xgrad
