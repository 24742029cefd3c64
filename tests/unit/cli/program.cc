#include "unit/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "unit/hook/fixtures.h"

namespace sidecall::cli {

Ending run_sidecall(const std::string& words) {
  const oci_hook::TemporaryDirectory directory;
  const std::string output = directory.path() + "/out";
  const std::string errors = directory.path() + "/err";
  // The parentheses make the redirections those of everything in `words`.
  const std::string command =
      "(" SIDECALL_PROGRAM " " + words + ") </dev/null >" + output + " 2>" + errors;
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): a test's own words
  Ending ending;
  if (WIFEXITED(status)) ending.status = WEXITSTATUS(status);
  ending.output = read_file(output).value_or("(none)");
  ending.errors = read_file(errors).value_or("(none)");
  return ending;
}

void expect_one_line(const Ending& ending, int status, const std::string& part) {
  EXPECT_EQ(ending.status, status) << ending.errors;
  EXPECT_EQ(ending.output, "");
  EXPECT_THAT(ending.errors,
              testing::AllOf(testing::StartsWith("sidecall: "), testing::HasSubstr(part)));
  EXPECT_EQ(std::count(ending.errors.begin(), ending.errors.end(), '\n'), 1) << ending.errors;
}

}  // namespace sidecall::cli
