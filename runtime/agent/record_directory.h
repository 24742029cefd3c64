// The records of all sandboxes: one small file each, below the run directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/record.h"
#include "base/result.h"

namespace sidecall::agent {

// Files are named by the sandboxes' numbers: no name comes from outside.
class RecordDirectory {
 public:
  struct Found {
    std::uint64_t number = 0;
    Result<Record> record;
  };

  // Creates the directory, mode 0700, where it is missing.
  [[nodiscard]] static Result<RecordDirectory> open(std::string path);

  // In one step. An error names the file: the disk is full, or read-only.
  [[nodiscard]] Result<void> write(const Record& record) const;
  // That there is none is no error.
  void remove(std::uint64_t number) const;
  // In the order of their numbers. What is not a record's name is left alone, the draft of a record
  // that was never finished removed.
  [[nodiscard]] Result<std::vector<Found>> read_all() const;

 private:
  explicit RecordDirectory(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] std::string file_of(std::uint64_t number) const;
  std::string path_;
};

}  // namespace sidecall::agent
