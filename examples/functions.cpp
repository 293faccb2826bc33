// Work that goes to the data: words are counted by the ranks that own them, and only the counts travel back.
//
//     mpirun -n 4 functions
#include <lapwing/lapwing.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

// [program]
namespace {

std::map<std::string, std::int64_t, std::less<>> words; // of this rank

void count(std::string_view word) { ++words[std::string{word}]; }
std::int64_t count_of(std::string_view word) {
    const auto found = words.find(word);
    return found == words.end() ? 0 : found->second;
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    const auto owner = [&](std::string_view word) {
        return static_cast<int>(std::hash<std::string_view>{}(word) % static_cast<std::size_t>(runtime.size()));
    };
    for (const char* const word : {"whale", "sea", "whale"}) runtime.post(owner(word), lapwing::fn<&count>, word);
    runtime.barrier(); // all have been counted

    const std::int64_t whales = runtime.call(owner("whale"), lapwing::fn<&count_of>, "whale").get();
    lapwing::GlobalArray<std::int64_t, 1> largest{runtime, {10}};
    largest.post(
        7, [](std::int64_t& element, std::int64_t value) { element = value > element ? value : element; }, whales);
    runtime.barrier();

    if (runtime.rank() == 0) std::printf("%lld whales\n", static_cast<long long>(largest(7)));
    return largest(7) == 2 * runtime.size() ? 0 : 1;
}
// [end]
