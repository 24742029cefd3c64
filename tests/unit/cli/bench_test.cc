// `sidecall bench`, with real workers and real callers. What it measures is not looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "unit/cli/program.h"
#include "unit/hook/fixtures.h"

namespace sidecall::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(BenchTest, RunsEveryRow) {
  const Ending ending = run_sidecall("bench --rounds 1 --calls 40");
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_THAT(ending.errors, IsEmpty());
  EXPECT_THAT(ending.output, AllOf(HasSubstr("value, one CPU"), HasSubstr("mknod and unlink"),
                                   HasSubstr("4 processes"), HasSubstr("not notified")));
}

TEST(BenchTest, DrawsAndPrintsOnlyTheRowsAskedFor) {
  const oci_hook::TemporaryDirectory directory;
  const std::string path = directory.path() + "/bench.svg";
  const Ending ending = run_sidecall(
      "bench --rounds 2 --calls 40 --rows 'sysinfo, one/floor, one CPU, no' --json "
      "--svg " +
      path);
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("\"name\": \"sysinfo, one CPU\""),
                                   testing::Not(HasSubstr("every CPU"))));
  const auto picture = read_file(path);
  ASSERT_TRUE(picture);
  EXPECT_THAT(*picture, AllOf(HasSubstr("floor, one CPU, no sync</text>"), HasSubstr("</svg>")));
}

TEST(BenchTest, SaysWhatIsWrong) {
  expect_one_line(run_sidecall("bench --rows nonsense"), 1, "no such row");
  expect_one_line(run_sidecall("bench --rounds 0"), 2, "--rounds");
}

}  // namespace
}  // namespace sidecall::cli
