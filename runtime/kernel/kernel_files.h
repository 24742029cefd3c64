// The real CallerFiles: system calls of the calling thread, which an Actor has made a caller's.
#pragma once

#include "kernel/caller_files.h"

namespace sidecall::kernel {

class KernelFiles final : public CallerFiles {
 public:
  // Descriptors of whoever makes it: `proc` on the worker's /proc, `namespace_proc` on that of the
  // mount namespace that the caller is in, or -1.
  KernelFiles(int proc, int namespace_proc)
      : proc_(proc), namespace_proc_(namespace_proc), attributes_(proc) {}

  [[nodiscard]] SysResult<UniqueFd> open_path(const std::string& path, int flags) override;
  [[nodiscard]] SysResult<UniqueFd> open_file(const std::string& path, int flags,
                                              mode_t mode) override;
  [[nodiscard]] SysResult<void> make_node(int parent, const std::string& name, mode_t mode,
                                          dev_t device) override;
  [[nodiscard]] SysResult<void> change_owner(int file, uid_t user, gid_t group) override;
  [[nodiscard]] FileAttributes& attributes() override { return attributes_; }
  [[nodiscard]] SysResult<void> remove(int parent, const std::string& name) override;
  [[nodiscard]] SysResult<UniqueFd> make_file(int parent, const std::string& name) override;
  [[nodiscard]] SysResult<void> mount(const MountArguments& arguments) override;
  [[nodiscard]] SysResult<void> attach_mount(int mount, int target) override;
  [[nodiscard]] SysResult<void> detach_mount(int mount) override;
  [[nodiscard]] SysResult<std::uint64_t> mount_id(int file) override;
  [[nodiscard]] SysResult<UniqueFd> copy_file(int file, bool writable) override;
  [[nodiscard]] SysResult<UniqueFd> copy_proc(unsigned long flags) override;
  [[nodiscard]] SysResult<UniqueFd> new_proc(int pid_namespace, unsigned long flags) override;

 private:
  int proc_;
  int namespace_proc_;
  KernelFileAttributes attributes_;
};

}  // namespace sidecall::kernel
