#pragma once

#include "model/advice.hpp"
#include "model/recorded_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::model {

/// What of a program's advice can be followed without changing it: the contents of a file for LAPWING_ADVICE. Nothing
/// in it weakens what the consistency table promises.
struct AdviceFile {
    /// Bytes of an owner's part that a rank reads.
    struct Prefetch {
        int rank = 0;
        int owner = 0;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    struct Window {
        std::string name = {};    ///< empty: a window without a name
        std::uint64_t number = 0; ///< in the order of creation
        std::size_t line = 0;     ///< of the file
        bool cached = false;      ///< by a cache of mode epoch
        std::optional<std::uint64_t> cache_bytes = {};
        std::optional<std::uint64_t> page_bytes = {};
        std::string strategy = {}; ///< a word of LAPWING_STRATEGY; empty: none
        std::vector<Prefetch> prefetch = {};
    };

    int ranks = 0; ///< of the run that was traced: with another number nothing is prefetched
    std::vector<Window> windows = {};
};

/// Lines that a person can read and change: see docs/advice.md.
[[nodiscard]] std::string to_text(const AdviceFile& advice, std::string_view made_from);

/// Throws FileError with the name of `file`, the line, and what to do, for anything that to_text() would not have
/// written.
[[nodiscard]] AdviceFile parse_advice(std::string_view text, std::string_view file);

/// What of the advice for a trace can be followed without changing the program.
[[nodiscard]] AdviceFile advice_file(const RecordedTrace& trace, const Advice& advice);

/// The advice in the contents of a file: what parse_advice() takes, or a trace (LAPWING_TRACE), from which it is worked
/// out, with the rates of the profile that the trace names, if it is there. Throws FileError.
[[nodiscard]] AdviceFile advice_in(std::string_view text, const std::string& file);

} // namespace lapwing::detail::model
