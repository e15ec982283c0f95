#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/room.hpp>

namespace xgrad {
namespace {

TEST(DiskSpace, RoomThatThereIs) {
  const test::TemporaryDirectory directory;
  check_room(directory.path(), 1, "two checkpoints");
  check_room(directory / "runs/that/will/be", 1, "two checkpoints");
  check_room("runs", 1, "two checkpoints");
}

TEST(DiskSpace, TooLittleIsRefusedWithBothSizes) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "runs/new";
  const std::string message =
      test::message_of<IoError>([&] { check_room(path, std::size_t(1) << 60, "two checkpoints"); });
  EXPECT_TRUE(
      message.starts_with(path + ": two checkpoints need 1152921504606846976 bytes, but only "))
      << message;
  EXPECT_TRUE(message.ends_with(" are free")) << message;
}

}  // namespace
}  // namespace xgrad
