#include "upc/guarded.hpp"

#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace lapwing::upc {

namespace {

/// In the order in which they are replaced.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> words{{
    {"Team::barrier (or notify and wait)", "upc_barrier (or upc_notify and upc_wait)"},
    {"Team::barrier", "upc_barrier"},
    {"Team::notify", "upc_notify"},
    {"Team::broadcast", "a collective call"},
    {"Team::all_gather", "a collective call"},
    {"Team::combine_before", "a prefix reduction"},
    {"Team::combine", "a reduction"},
    {"Team::fence", "upc_fence"},
    {"Team::release", "upc_fence"},
    {"Team::acquire", "upc_fence"},
    {"Team::wait", "upc_wait"},
    {"Team::close", "the end of the program (a return from main, or exit)"},
    {"the close of a window", "the end of the program (a return from main, or exit)"},
    {"the creation of a window", "the start of the program"},
    {"notify was called before, and its wait is missing; call wait first",
     "the upc_wait for the previous upc_notify is missing; call it first"},
    {"Window(\"UPC's shared heap\")", "the shared heap"},
    {"the identities differ", "the names differ"},
    {"all ranks of a team", "all threads"},
    {"left the team", "left the program"},
    {"a rank of the team", "a thread"},
    {"Ranks", "Threads"},
    {"ranks", "threads"},
    {"Rank", "Thread"},
    {"rank", "thread"},
}};

[[nodiscard]] bool is_letter(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

} // namespace

std::string in_words_of_upc(std::string text) {
    for (const auto& [from, to] : words)
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
            // Whole words only.
            const std::size_t end = at + from.size();
            if ((at > 0 && is_letter(text[at - 1]) && is_letter(from.front())) ||
                (end < text.size() && is_letter(text[end]) && is_letter(from.back()))) {
                at = end;
                continue;
            }
            text.replace(at, from.size(), to);
            at += to.size();
        }
    return text;
}

} // namespace lapwing::upc
