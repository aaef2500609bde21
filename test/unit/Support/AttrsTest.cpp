//===- AttrsTest.cpp ------------------------------------------------------===//

#include "dtorch/Support/Attrs.h"
#include "dtorch/Support/Error.h"

#include <gtest/gtest.h>

using namespace dtorch;

TEST(Attrs, OrderOfSettingDoesNotMatter) {
  Attrs a = {{"kind", std::string("add")}, {"dim", int64_t(1)}};
  Attrs b;
  b.set("dim", int64_t(2));
  b.set("kind", std::string("add"));
  EXPECT_FALSE(a == b);
  b.set("dim", int64_t(1));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.begin()->first, "dim");
}

TEST(Attrs, TypedAccess) {
  Attrs attrs = {{"flag", true},
                 {"dim", int64_t(3)},
                 {"kind", std::string("sum")},
                 {"dims", std::vector<int64_t>{1, 2}}};
  EXPECT_TRUE(attrs.getBool("flag"));
  EXPECT_EQ(attrs.getInt("dim"), 3);
  EXPECT_EQ(attrs.getString("kind"), "sum");
  EXPECT_EQ(attrs.getInts("dims").size(), 2u);
  EXPECT_EQ(attrs.find("none"), nullptr);
  EXPECT_THROW(attrs.getInt("none"), Error);
  EXPECT_THROW(attrs.getInt("flag"), Error);
}
