#include "cli/json_writer.h"

#include <gtest/gtest.h>

namespace sidecall::cli {
namespace {

TEST(JsonWriterTest, NestsAndSeparates) {
  JsonWriter json;
  json.open_object();
  json.key("name");
  json.string("x");
  json.key("list");
  json.open_array();
  json.boolean(true);
  json.string("y");
  json.close();
  json.key("empty");
  json.open_array();
  json.close();
  json.close();
  EXPECT_EQ(json.take(),
            "{\n"
            "  \"name\": \"x\",\n"
            "  \"list\": [\n"
            "    true,\n"
            "    \"y\"\n"
            "  ],\n"
            "  \"empty\": []\n"
            "}\n");
}

TEST(JsonWriterTest, EscapesWhatJsonForbidsInAString) {
  JsonWriter json;
  json.string("a\"b\\c\n\x01µ");
  EXPECT_EQ(json.take(), "\"a\\\"b\\\\c\\u000a\\u0001µ\"\n");
}

}  // namespace
}  // namespace sidecall::cli
