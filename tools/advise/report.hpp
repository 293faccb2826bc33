#pragma once

#include "model/advice.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace lapwing::advise {

/// What the reports are made of.
struct Report {
    const detail::model::RecordedTrace& trace;
    const detail::model::Advice& advice;
    std::vector<std::string> lines = {};     ///< of each use of the advice
    std::vector<std::string> intervals = {}; ///< of each interval of rank 0
    std::vector<std::string> notes = {};
    std::size_t most = 10; ///< uses and changes that are printed
};

/// `x` of `examples/a.cpp:31`, in words.
[[nodiscard]] std::string sentence(const Report& report, const detail::model::AccessUse& use, const std::string& line);
/// Of the uses a change concerns: their lines, each once.
[[nodiscard]] std::vector<std::string> lines_of(const Report& report, const detail::model::AdvisedChange& change);
[[nodiscard]] std::string object_text(const detail::model::AccessUse& use);
/// 3.1 million.
[[nodiscard]] std::string count_text(std::uint64_t count);
/// 41 s, 3.2 ms.
[[nodiscard]] std::string time_text(double seconds);

[[nodiscard]] std::string as_text(const Report& report);
[[nodiscard]] std::string as_json(const Report& report);
/// One page that needs no other file.
[[nodiscard]] std::string as_html(const Report& report);

} // namespace lapwing::advise
