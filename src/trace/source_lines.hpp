#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::detail::trace {

/// A call, as an offset in a file of the program: the address to which it returns.
struct CodePlace {
    std::string file = {};
    std::uint64_t offset = 0;
    friend auto operator<=>(const CodePlace&, const CodePlace&) = default;
};

/// Source lines of calls, found by addr2line (binutils) in the files of the program.
class SourceLines {
public:
    /// What a file was like when its places were recorded.
    void add_file(const std::string& file, std::uint64_t bytes, std::int64_t changed);
    void add(std::span<const CodePlace> places);
    /// Looks up all added places, with one call of addr2line per file and some hundred places.
    void look_up();

    /// The innermost place outside the library, of calls from the inside out: "file.cpp:31 (function)"; else what is
    /// known of it.
    [[nodiscard]] std::string line(std::span<const CodePlace> places) const;
    /// Why lines may be missing or wrong, a sentence each: files that are gone or have changed.
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

private:
    struct Function {
        std::string name;
        std::string line; ///< empty: unknown
    };

    void look_up(const std::string& file, const std::vector<std::uint64_t>& offsets);
    void note_missing();

    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> files_; ///< size and modification time
    std::map<CodePlace, std::vector<Function>> places_; ///< with inlined functions, innermost first; its offset is
                                                        ///< inside the call
    std::vector<std::string> notes_;
};

} // namespace lapwing::detail::trace
