// The real host.
#pragma once

#include <string>

#include "agent/host.h"

namespace sidecall::agent {

class SystemHost final : public Host {
 public:
  SystemHost(std::string policy_directory, std::string worker_path, std::string bridge_path,
             placement::Charge charge);

  Result<emulators::Program> load_program(std::string_view policy) override;
  Result<std::unique_ptr<Worker>> launch(const std::string& sandbox,
                                         const emulators::Program& program,
                                         const placement::Seat& seat,
                                         const worker::Statistics* predecessor) override;
  Result<std::unique_ptr<Worker>> adopt(UniqueFd process, UniqueFd control,
                                        UniqueFd memory) override;
  Result<std::unique_ptr<Bridge>> launch_bridge(const bridge::Settings& settings,
                                                const placement::Seat& seat) override;
  Result<std::unique_ptr<Bridge>> adopt_bridge(UniqueFd process, UniqueFd control) override;
  Result<UniqueFd> connect_plugin(const std::string& path) override;
  Result<placement::Seat> sandbox_seat(pid_t pid, bool busy) override;
  Result<void> place(pid_t worker, const placement::Seat& seat) override;
  bool is_alive(pid_t pid) override;

 private:
  std::string policy_directory_;
  std::string worker_path_;
  std::string bridge_path_;
  placement::Charge charge_;
  std::string own_cgroup_;  // of the cpu controller; empty where there is none
};

}  // namespace sidecall::agent
