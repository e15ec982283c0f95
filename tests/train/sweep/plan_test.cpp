#include <xgrad/train/sweep/plan.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/config/toml.hpp>

namespace xgrad {
namespace {

// toml++ reaches an unreachable place on such characters, as UBSan finds.
TEST(Axis, CharactersBeyondAsciiOutsideOfStringsAreNotTOML) {
  for (const std::string values : {"['a'\u00e9]", "['a', \u00e9]", "['a']\u00a1"}) {
    const std::string axis = "a.b=" + values;
    EXPECT_EQ(test::message_of<ConfigError>([&] {
                detail::parse_axis(axis);
              }).find("'" + axis + "': the values are not TOML; write, for example, "),
              0u);
  }
  EXPECT_EQ(detail::parse_axis("a.b=['\u00e9', 'x']").second.size(), 2u);
}

// From the manual page proc_pid_mountinfo(5), and from machines with NFS and Lustre.
constexpr const char* kMounts =
    "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
    "40 35 0:41 / /home rw,relatime shared:7 - nfs4 server:/home rw,vers=4.2,local_lock=none\n"
    "41 35 0:42 / /old rw,relatime - nfs server:/old rw,vers=3,nolock,local_lock=all\n"
    "42 35 0:43 / /half rw,relatime - nfs server:/half rw,vers=3,local_lock=flock,addr=10.0.0.1\n"
    "43 35 0:44 / /lustre rw shared:9 - lustre mds:/fs rw,localflock,user_xattr\n"
    "44 35 0:45 / /other rw shared:9 - lustre mds:/fs rw,flock,user_xattr\n";

TEST(Claims, LocksThatOtherMachinesDoNotSeeAreFoundInTheMountOptions) {
  EXPECT_EQ(local_locks_option(kMounts, "98:0"), "");
  EXPECT_EQ(local_locks_option(kMounts, "0:41"), "");
  EXPECT_EQ(local_locks_option(kMounts, "0:42"), "nolock");
  EXPECT_EQ(local_locks_option(kMounts, "0:43"), "local_lock=flock");
  EXPECT_EQ(local_locks_option(kMounts, "0:44"), "localflock");
  EXPECT_EQ(local_locks_option(kMounts, "0:45"), "");
  EXPECT_EQ(local_locks_option(kMounts, "0:4"), "");
}

}  // namespace
}  // namespace xgrad
