// A program of its own that an exception ends: every rank's catch must run and print, whatever happens to MPI after
// it. argument 1: leave, the last rank throws while the others are in a barrier; all, every rank throws the same;
//             inside, every rank throws and catches while the runtime goes on, which then ends as ever.
#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

struct ProgramError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void work(const char* how, int& rank) {
    lapwing::Runtime runtime;
    rank = runtime.rank().value;
    const auto use_window = [&](bool fails) {
        lapwing::Window window{runtime, 1 << 16};
        window.put(lapwing::Rank{(rank + 1) % runtime.size()}, lapwing::Offset{0}, rank);
        runtime.barrier();
        if (fails) throw ProgramError{"an error of the program"};
        runtime.barrier();
    };
    if (std::strcmp(how, "inside") == 0) {
        try {
            use_window(true);
        } catch (const ProgramError& error) {
            std::fprintf(stderr, "rank %d caught inside: %s\n", rank, error.what());
        }
        use_window(false);
        return;
    }
    use_window(std::strcmp(how, "all") == 0 || rank == runtime.size() - 1);
}

} // namespace

int main(int count, char** arguments) {
    const char* const how = count > 1 ? arguments[1] : "leave";
    int rank = -1;
    try {
        work(how, rank);
    } catch (const ProgramError& error) {
        std::fprintf(stderr, "rank %d caught: %s\n", rank, error.what());
        return 3;
    } catch (const lapwing::PeerLeftError& error) {
        std::fprintf(stderr, "rank %d caught: %s\n", rank, error.what());
        return 3;
    }
    std::fprintf(stderr, "rank %d ends\n", rank);
    return 0;
}
