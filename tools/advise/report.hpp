#pragma once

#include "model/advice.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace lapwing::advise {

/// The input of all reports.
struct Report {
    const detail::model::RecordedTrace& trace;
    const detail::model::Advice& advice;
    std::vector<std::string> lines = {};                        ///< of each use of the advice
    std::vector<std::string> places = {};                       ///< the lines where intervals begin, on any rank
    std::vector<std::vector<std::size_t>> interval_places = {}; ///< by rank: of each of its intervals, which of these
    std::vector<std::string> notes = {};
    std::size_t most = 10; ///< uses and changes printed
};

/// `x` of `examples/a.cpp:31`, as a phrase.
[[nodiscard]] std::string sentence(const Report& report, const detail::model::AccessUse& use, const std::string& line);
/// The source lines of the uses that a change concerns, without duplicates.
[[nodiscard]] std::vector<std::string> lines_of(const Report& report, const detail::model::AdvisedChange& change);
[[nodiscard]] std::string object_text(const detail::model::AccessUse& use);
/// For example, 3.1 million.
[[nodiscard]] std::string count_text(std::uint64_t count);
/// For example, 41 s, 3.2 ms.
[[nodiscard]] std::string time_text(double seconds);

[[nodiscard]] std::string as_text(const Report& report);
[[nodiscard]] std::string as_json(const Report& report);
/// One self-contained page.
[[nodiscard]] std::string as_html(const Report& report);

} // namespace lapwing::advise
