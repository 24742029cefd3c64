#include "oci/document_end.h"

#include <string>

#include "gtest/gtest.h"

namespace sidecall::oci {
namespace {

TEST(DocumentEnd, IsTheOutermostClosingBracket) {
  const std::string document = R"( {"a": [1, {"b": "}]\"}"}], "c\\": {}})";
  for (std::size_t length = 0; length < document.size(); ++length) {
    EXPECT_FALSE(is_whole_document(document.substr(0, length))) << length;
  }
  EXPECT_TRUE(is_whole_document(document));
  EXPECT_TRUE(is_whole_document(document + "\n"));
}

TEST(DocumentEnd, WhatCanNeverBeADocumentIsWholeAtOnce) {
  EXPECT_TRUE(is_whole_document("x"));
  EXPECT_TRUE(is_whole_document("  \"text"));
  EXPECT_TRUE(is_whole_document("}"));
  EXPECT_FALSE(is_whole_document(""));
  EXPECT_FALSE(is_whole_document(" \n\t"));
}

}  // namespace
}  // namespace sidecall::oci
