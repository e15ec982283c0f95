// save_loop DIRECTORY PROGRESS FIRST LAST: saves a checkpoint of each step and prunes to two, as a
// run does. Each save that succeeded is noted by a directory in PROGRESS, so that faults of other
// calls leave the notes alone. save_loop DIRECTORY: prints the step of the latest checkpoint, which
// it loads.
#include <sys/stat.h>
#include <support/checkpoints.hpp>

#include <cstdio>
#include <string>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

using namespace xgrad;

int main(int argc, char** argv) try {
  const std::string directory = argv[1];
  if (argc == 2) {
    std::printf("%d\n", int(latest_checkpoint(directory).step));
    return 0;
  }
  for (int step = std::stoi(argv[3]); step <= std::stoi(argv[4]); ++step) {
    Checkpoint checkpoint = test::small_checkpoint();
    checkpoint.step = std::uint64_t(step);
    const DigestedFile file = to_hdf5_file(checkpoint);
    const Folder folder(directory);
    add_to_manifest(folder, checkpoint_name(checkpoint.step), file.sha256);
    publish(folder, checkpoint_name(checkpoint.step), file.bytes);
    ::mkdir((argv[2] + ("/" + std::to_string(step))).c_str(), 0700);
    prune(folder, 2, 0);
  }
} catch (const IoError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 6;
} catch (const CheckpointError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 4;
}
