#pragma once

#include "src/trace/line_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lapwing::detail::runtime {

/// What LAPWING_STATS=lines asks for.
struct LineReport {
    trace::LineOrder order = trace::LineOrder::time;
    std::uint32_t most = 20; ///< lines that are printed, up to the limit
    static constexpr std::uint32_t limit = 1'000'000;
};

/// As one number, which rank 0 sends the others; 0: nothing is asked for.
[[nodiscard]] constexpr std::uint32_t as_number(const std::optional<LineReport>& report) noexcept {
    return report ? report->most << 1 | static_cast<std::uint32_t>(report->order) : 0;
}
[[nodiscard]] constexpr std::optional<LineReport> line_report_of(std::uint32_t number) noexcept {
    if (number == 0) return {};
    return LineReport{static_cast<trace::LineOrder>(number & 1), number >> 1};
}

/// Of `lines`, `lines:bytes`, `lines:50`, `lines:bytes:50`; nullopt for anything else.
[[nodiscard]] std::optional<LineReport> line_report(std::string_view value);

/// The table as text: a line of the program's source each, those with most first. Looks up lines, which takes a second
/// and more: when no other rank waits for this one.
[[nodiscard]] std::string as_text(const trace::LineTable& table, const LineReport& report, int ranks);

} // namespace lapwing::detail::runtime
