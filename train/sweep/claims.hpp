// Claims: which worker of a sweep does which run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

/// Opens the log of a run and locks it. Returns nothing if another process has locked it. The lock
/// is free again when this descriptor and the copies that a child inherits are closed, so it ends
/// with the run, however that ends. Throws IoError.
std::optional<detail::Descriptor> claim(const std::string& log);

/// Throws IoError unless two claims on a file in this folder exclude each other, here and on other
/// machines: some network file systems have no locks, or only those of each machine.
void check_claims_work(const std::string& folder);

/// The mount option that makes locks on the device MAJOR:MINOR those of one machine alone, such as
/// "nolock"; empty if there is none. `mounts` is the text of /proc/self/mountinfo, see proc(5).
std::string local_locks_option(std::string_view mounts, std::string_view device);

}  // namespace xgrad
