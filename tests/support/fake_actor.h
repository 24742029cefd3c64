// A kernel::Actor that makes nothing and remembers what it was asked for.
#pragma once

#include <string>
#include <vector>

#include "kernel/actor.h"
#include "support/fd_name.h"

namespace sidecall::support {

class FakeActor final : public kernel::Actor {
 public:
  struct Node {
    std::string path;
    mode_t mode = 0;
    dev_t device = 0;
    std::string root;  // fd_name() of the view's descriptors
    std::string base;
    kernel::Credentials credentials;
  };
  std::vector<Node> made;
  int failure = 0;  // the errno that everything fails with

  SysResult<void> make_node(const kernel::CallerView& view, const std::string& path, mode_t mode,
                            dev_t device) override {
    if (failure != 0) return sys_failure(failure);
    made.push_back({.path = path,
                    .mode = mode,
                    .device = device,
                    .root = fd_name(view.root.get()),
                    .base = fd_name(view.base.get()),
                    .credentials = view.credentials});
    return {};
  }
};

}  // namespace sidecall::support
