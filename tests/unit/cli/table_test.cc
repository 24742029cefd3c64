#include "cli/table.h"

#include <gtest/gtest.h>

namespace sidecall::cli {
namespace {

using enum Column::Align;

TEST(TableTest, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
  Table table({{"NAME", kLeft}, {"N", kRight}, {"NOTE", kLeft}});
  table.add_row({"a", "10", "x"});
  table.add_row({"longer", "9", ""});
  EXPECT_EQ(table.render(),
            "NAME     N  NOTE\n"
            "a       10  x\n"
            "longer   9\n");
}

TEST(TableTest, CutsTheWidestElasticColumnAndNoOther) {
  Table table({{"ID", kLeft, true}, {"POLICY", kLeft, true}, {"PID", kRight}});
  table.add_row({std::string(64, 'f'), "default", "1234567"});
  const std::string text = table.render(40);
  EXPECT_EQ(text, "ID" + std::string(20, ' ') + "  POLICY       PID\n" + std::string(21, 'f') +
                      "…  default  1234567\n");
}

TEST(TableTest, IsRatherTooWideThanUnreadable) {
  Table table({{"A", kLeft, true}, {"B", kLeft}});
  table.add_row({std::string(20, 'a'), std::string(20, 'b')});
  EXPECT_EQ(table.render(10),
            "A         B\n"
            "aaaaaaa…  bbbbbbbbbbbbbbbbbbbb\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  Table table({{"TIME", kRight}, {"X", kLeft}});
  table.add_row({"2.1µs", "x"});
  table.add_row({"850ns", "y"});
  EXPECT_EQ(table.render(),
            " TIME  X\n"
            "2.1µs  x\n"
            "850ns  y\n");
}

TEST(TableTest, NeverCutsWithinACharacter) {
  Table table({{"X", kLeft, true}});
  table.add_row({"µµµµµµµµµµ"});
  EXPECT_EQ(table.render(8), "X\nµµµµµµµ…\n");
}

TEST(WrapTest, BreaksAtSpacesWithinTheWidth) {
  EXPECT_EQ(wrap("one two three four", 2, 11), "  one two\n  three\n  four\n");
  EXPECT_EQ(wrap("", 2, 11), "  \n");
  EXPECT_EQ(wrap("much-too-long-a-word x", 0, 8), "much-too-long-a-word\nx\n");
}

}  // namespace
}  // namespace sidecall::cli
