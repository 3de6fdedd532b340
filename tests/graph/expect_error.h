// Expects an Error with a code and texts in its message, place or hint.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "temper/support/error.h"

namespace temper::graph::testing {

template <class Work>
void expect_error(ErrorCode code, const std::vector<std::string>& texts, Work&& work) {
  try {
    work();
    ADD_FAILURE() << "no error; expected one about '" << texts.front() << "'";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    for (const std::string& text : texts) EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(text));
  }
}

}  // namespace temper::graph::testing
