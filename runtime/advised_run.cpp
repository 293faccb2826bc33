#include "runtime/advised_run.hpp"

#include "model/advice_file.hpp"
#include "src/support/log.hpp"
#include "src/team/team_state.hpp"
#include "window/advised_windows.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::detail::support::settings_in {
void runtime_advised_run() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::runtime {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::TextSetting advice_setting{
    {.name = "LAPWING_ADVICE",
     .default_value = "",
     .unit = "",
     .help =
         "file of lapwing-advise --advice, or of LAPWING_TRACE: caches and prefetches as that run would have needed",
     .choices = {},
     .collective = true,
     .range = "empty or a path"}};

[[nodiscard]] std::string contents_of(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    if (!in.is_open() || in.bad())
        throw FileError{
            fmt::format("LAPWING_ADVICE={}: it cannot be read ({}); name a file of lapwing-advise --advice, or a trace",
                        file, std::strerror(errno))};
    return text;
}

/// Collective. The text of rank 0's `make()`; what that throws is thrown on every rank.
template <class Make>
[[nodiscard]] std::string from_first_rank(Team& team, Make&& make) {
    struct Head {
        std::uint64_t bytes = 0;
        std::uint64_t failed = 0;
    } head;
    std::string text;
    if (team.rank() == Rank{0}) {
        // No failure here may keep this rank from the broadcast in which the others wait.
        try {
            text = make();
        } catch (const std::exception& error) {
            text = error.what();
            head.failed = 1;
        }
        head.bytes = text.size();
    }
    team.broadcast(std::as_writable_bytes(std::span{&head, 1}), Rank{0});
    text.resize(head.bytes);
    team.broadcast(std::as_writable_bytes(std::span{text}), Rank{0});
    if (head.failed != 0) throw FileError{text};
    return text;
}

/// What this rank needs of it.
[[nodiscard]] std::vector<window::AdvisedWindow> for_rank(const model::AdviceFile& advice, const Team& team) {
    std::vector<window::AdvisedWindow> windows;
    for (const model::AdviceFile::Window& of : advice.windows) {
        window::AdvisedWindow window{.name = of.name, .number = of.number, .line = of.line};
        if (of.cached) window.mode = CacheMode::epoch;
        window.cache_bytes = of.cache_bytes;
        window.page_bytes = of.page_bytes;
        window.strategy = of.strategy;
        // Which rank has what depends on their number.
        if (advice.ranks == team.size())
            for (const model::AdviceFile::Prefetch& part : of.prefetch)
                if (part.rank == team.rank().value && part.owner != part.rank && part.owner >= 0 &&
                    part.owner < team.size())
                    window.prefetch.push_back({part.owner, part.begin, part.end});
        windows.push_back(std::move(window));
    }
    return windows;
}

} // namespace

void use_advice(Team& team) {
    const std::string file = advice_setting.get(team.settings());
    if (file.empty()) return;
    const std::string text = from_first_rank(team, [&] {
        const std::string contents = contents_of(file);
        try {
            // A trace is long; the advice that follows from it is not.
            return contents.starts_with("lapwing trace ") ? to_text(model::advice_in(contents, file), file)
                                                          : (void(model::parse_advice(contents, file)), contents);
        } catch (const FileError& error) {
            throw FileError{fmt::format("LAPWING_ADVICE={}", error.what())};
        }
    });
    team.state().part<window::AdvisedWindows>().set(for_rank(model::parse_advice(text, file), team));
}

void report_unused_advice(Team& team) {
    const std::string file = advice_setting.get(team.settings());
    if (file.empty() || team.rank() != Rank{0}) return;
    std::vector<std::string> unused;
    for (const window::AdvisedWindow& window : team.state().part<window::AdvisedWindows>().unused())
        unused.push_back(window.name.empty() ? fmt::format("window {} (line {})", window.number, window.line)
                                             : fmt::format("\"{}\" (line {})", window.name, window.line));
    if (unused.empty()) return;
    support::log_line(
        fmt::format("LAPWING_ADVICE={}: this run had no window or array {}; trace it again if the program has "
                    "changed",
                    file, fmt::join(unused, ", ")));
}

} // namespace lapwing::detail::runtime
