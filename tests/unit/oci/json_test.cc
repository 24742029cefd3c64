#include "oci/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::oci {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(std::string_view text, std::size_t limit = 1U << 20) {
  const auto parsed = parse_json(text, limit);
  return parsed ? "" : parsed.error().message;
}

TEST(ParseJson, KeepsOrderAndValues) {
  const std::string text =
      R"({"z":1,"a":{"y":[true,null,-3,18446744073709551615,"\u00e9\u0000"]},"m":0.5})";
  const auto parsed = parse_json(text, 1000);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->dump(),
            "{\"z\":1,\"a\":{\"y\":[true,null,-3,18446744073709551615,"
            "\"\u00e9\\u0000\"]},\"m\":0.5}");
}

TEST(ParseJson, RefusesARepeatedKeyWhereverItIs) {
  EXPECT_EQ(error_of(R"({"a":1,"a":1})"), "$.a: repeated key");
  EXPECT_EQ(error_of(R"([0,{"b":{"c d":1,"e":2,"c d":1}}])"), R"($[1].b["c d"]: repeated key)");
  EXPECT_EQ(error_of(R"({"a":1,"\u0061":1})"), "$.a: repeated key");
  EXPECT_EQ(error_of(R"({"a":{"a":{"a":1}}})"), "");
}

TEST(ParseJson, SaysWhereTheSyntaxIsWrong) {
  EXPECT_EQ(error_of("{\n  \"a\": [1, 2,, 3]\n}"),
            "$.a[2]: not JSON at line 2, column 14: near \"2,,\"");
  EXPECT_THAT(error_of("{\"a\": 1"), HasSubstr("not JSON at line 1"));
  EXPECT_THAT(error_of(""), StartsWith("$: not JSON at line 1, column 1"));
  EXPECT_THAT(error_of("{} {}"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("{} // comment"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(std::string_view("{}\0{", 4)), HasSubstr("a NUL byte at offset 2"));
  EXPECT_THAT(error_of("\"\xff\""), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("NaN"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("1e999"), HasSubstr("not JSON"));
}

TEST(ParseJson, RefusesWholeNumbersThatWouldLoseDigits) {
  EXPECT_EQ(error_of("[18446744073709551616]"), "$[0]: number beyond 64 bits");
  EXPECT_EQ(error_of("[-9223372036854775809]"), "$[0]: number beyond 64 bits");
  EXPECT_EQ(error_of("[18446744073709551615, -9223372036854775808, 1e3]"), "");
}

TEST(ParseJson, BoundsDepthAndSize) {
  EXPECT_EQ(error_of(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_THAT(error_of(std::string(65, '[') + std::string(65, ']')),
              HasSubstr("nested deeper than 64"));
  EXPECT_THAT(error_of(std::string(100000, '[')), HasSubstr("nested deeper than 64"));
  EXPECT_EQ(error_of("[1]", 3), "");
  EXPECT_EQ(error_of("[1, 2]", 5), "$: 6 bytes, more than the 5 allowed");
}

// A linear search per key would take minutes here.
TEST(ParseJson, ReadsManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 400000; ++i) text += "\"key" + std::to_string(i) + "\":0,";
  text.back() = '}';
  const auto parsed = parse_json(text, 16U << 20);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->size(), 400000U);
}

TEST(Node, KeepsTheFirstThingThatIsWrong) {
  const auto json = parse_json(R"({"a": "x", "n": -1, "l": [1], "z": null})", 1000);
  ASSERT_TRUE(json);
  Node::Finding finding;
  const Node root(*json, finding);
  EXPECT_EQ(root.member("a").text(), "x");
  EXPECT_EQ(root.member("missing").text(), "");
  EXPECT_EQ(root.member("missing").member("deeper").number(5), 0U);
  EXPECT_TRUE(root.nullable("z").items().empty());
  EXPECT_FALSE(finding.found());
  EXPECT_EQ(root.member("n").number(5), 0U);
  EXPECT_EQ(root.member("l").texts(), std::vector<std::string>{""});
  ASSERT_TRUE(finding.found());
  EXPECT_EQ(finding.take().value().message, "$.n: must be a whole number from 0 on");
}

TEST(Node, NamesAMissingMemberAndAnUnknownKey) {
  const auto json = parse_json(R"({"lisst": 1})", 1000);
  ASSERT_TRUE(json);
  Node::Finding missing;
  (void)Node(*json, missing).required("list");
  EXPECT_EQ(missing.take().value().message, "$.list: missing");
  Node::Finding unknown;
  Node(*json, unknown).only(std::vector<std::string_view>{"list", "other"});
  EXPECT_EQ(unknown.take().value().message, "$.lisst: unknown key (did you mean \"list\"?)");
}

TEST(Node, ShowsHostileKeysOnOneShortLine) {
  const auto json = parse_json("{\"a\\n\\u001b[31m" + std::string(500, 'x') + "\": 1}", 1000);
  ASSERT_TRUE(json);
  Node::Finding finding;
  Node(*json, finding).only({});
  const std::string message = finding.take().value().message;
  EXPECT_THAT(message, StartsWith("$[\"a\\n\\u001b[31mxxx"));
  EXPECT_LT(message.size(), 120U);
}

}  // namespace
}  // namespace sidecall::oci
