//===- Scanner.h - reads the small texts of this library --------*- C++ -*-===//
#pragma once

#include "dtorch/Support/Error.h"

#include <cctype>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace dtorch {

/// A cursor over a text. Every reader skips blanks first; `fail` throws an
/// Error that quotes the whole text.
class Scanner {
public:
  Scanner(std::string_view subject, std::string_view text)
      : subject(subject), text(text) {}

  bool atEnd() {
    skipBlanks();
    return pos == text.size();
  }

  /// Whether the text continues with `token`; moves past it if so.
  bool eat(std::string_view token) {
    skipBlanks();
    if (text.substr(pos, token.size()) != token)
      return false;
    pos += token.size();
    return true;
  }

  /// Whether the text continues with `token`; does not move.
  bool sees(std::string_view token) {
    skipBlanks();
    return text.substr(pos, token.size()) == token;
  }

  void expect(std::string_view token) {
    if (!eat(token))
      fail("expected '" + std::string(token) + "'");
  }

  void expectEnd() {
    if (!atEnd())
      fail("unexpected '" + std::string(text.substr(pos)) + "'");
  }

  int64_t integer() {
    skipBlanks();
    bool negative = eat("-");
    size_t begin = pos;
    constexpr int64_t limit = std::numeric_limits<int64_t>::max() / 10 - 1;
    int64_t value = 0;
    for (; pos < text.size() && isDigit(text[pos]); ++pos) {
      if (value > limit)
        fail("number out of range");
      value = value * 10 + (text[pos] - '0');
    }
    if (pos == begin)
      fail("expected a number");
    return negative ? -value : value;
  }

  /// Letters, digits and `_`; empty if there is none.
  std::string_view identifier() {
    skipBlanks();
    size_t begin = pos;
    while (pos < text.size() && (std::isalnum(byte(pos)) || text[pos] == '_'))
      ++pos;
    return text.substr(begin, pos - begin);
  }

  /// A text between double quotes; `\` quotes the next character.
  std::string quoted() {
    expect("\"");
    std::string out;
    for (; pos < text.size() && text[pos] != '"'; ++pos) {
      if (text[pos] == '\\' && pos + 1 < text.size())
        ++pos;
      out += text[pos];
    }
    if (pos == text.size())
      fail("missing '\"'");
    ++pos;
    return out;
  }

  [[noreturn]] void fail(const std::string &mistake) const {
    throw Error(std::string(subject) + ": " + mistake + " at column " +
                std::to_string(pos + 1) + " of '" + std::string(text) + "'");
  }

private:
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  unsigned char byte(size_t i) const {
    return static_cast<unsigned char>(text[i]);
  }
  void skipBlanks() {
    while (pos < text.size() && std::isspace(byte(pos)))
      ++pos;
  }

  std::string_view subject, text;
  size_t pos = 0;
};

} // namespace dtorch
