// What a workload was seen to call, and what it needs of a profile and a policy for that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/listener.h"
#include "kernel/target.h"
#include "oci/seccomp.h"

namespace sidecall::cli {

class Recording {
 public:
  // `base` is what the result is held against.
  explicit Recording(oci::SeccompProfile base);

  // One call, which waits. What cannot be read of its memory is not recorded.
  void note(const kernel::Notification& call, kernel::Target& target);

  // Everything that was called is allowed and nothing else; the rest is ENOSYS, which makes C
  // libraries do without. Where the base allows a call on conditions on its registers alone, and
  // they always held, they stay. What OCI runtimes themselves call in a container before its
  // program begins is allowed as well.
  [[nodiscard]] oci::SeccompProfile profile() const;
  // What takes more than a container's root has: device nodes, mounts, attributes. JSON.
  [[nodiscard]] std::string policy() const;
  // For people, against the base: "+ CALL" is needed and refused there, "- CALL" allowed there and
  // never called. Sorted, one a line; "" where there is no difference.
  [[nodiscard]] std::string difference() const;

 private:
  // How the base has a call, by the rules that allow it.
  struct InBase {
    bool always = false;
    std::vector<emulators::Conditions> when;
  };
  void note_node(std::uint64_t mode, std::uint64_t device);
  void note_mount(const kernel::Notification& call, kernel::Target& target);
  void note_attribute(std::uint64_t name, kernel::Target& target);
  [[nodiscard]] bool stays_in_base(const std::string& name) const;

  const oci::SeccompProfile base_;
  std::map<std::string, InBase> in_base_;
  std::set<std::string> calls_;
  std::set<std::string> beyond_base_;  // of calls_: those that the base refused at least once
  std::set<std::string> nodes_;        // "c 1:3"
  std::map<std::string, std::set<std::string>> filesystems_;  // options by type
  std::set<std::string> sources_;                             // block devices, "b 7:0"
  std::set<std::string> attributes_;
};

}  // namespace sidecall::cli
