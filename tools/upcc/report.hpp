#pragma once

#include "lexer.hpp"
#include "prepass.hpp"

#include <cstddef>
#include <set>
#include <string>

namespace upcc {

/// Messages to the programmer: file, line, column, the line itself and a caret below it.
class Report {
public:
    explicit Report(const Positions& positions) : positions_{positions} {}
    /// What offsets refer to from here on. Messages that were printed before are not repeated.
    void of(const Prepared& prepared) { prepared_ = &prepared; }

    enum class Kind { remark, note, warning, error };
    /// `offset`: in the parsed text.
    void add(Kind kind, std::size_t offset, const std::string& text);
    /// With an offset in the preprocessed text.
    void add_at_source(Kind kind, std::size_t offset, const std::string& text);
    void error(std::size_t offset, const std::string& text) { add(Kind::error, offset, text); }

    [[nodiscard]] int errors() const { return errors_; }
    [[nodiscard]] const Positions& positions() const { return positions_; }

private:
    const Positions& positions_;
    const Prepared* prepared_ = nullptr;
    std::set<std::string> told_;
    int errors_ = 0;
};

} // namespace upcc
