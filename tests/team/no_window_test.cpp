// Hosts connected by TCP, with the MPI's defaults there. Open MPI 4.1 has no windows between them.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using lapwing::Offset;
using lapwing::Rank;

namespace {

/// What this process writes to standard error meanwhile, MPI's own texts too.
class CapturedStderr {
public:
    CapturedStderr() {
        std::fflush(stderr);
        before_ = dup(STDERR_FILENO);
        dup2(fileno(file_), STDERR_FILENO);
    }
    ~CapturedStderr() { restore(); }
    CapturedStderr(const CapturedStderr&) = delete;
    CapturedStderr& operator=(const CapturedStderr&) = delete;

    [[nodiscard]] std::string text() {
        restore();
        std::rewind(file_);
        std::string text;
        std::array<char, 4096> piece{};
        while (const std::size_t read = std::fread(piece.data(), 1, piece.size(), file_))
            text.append(piece.data(), read);
        return text;
    }

private:
    void restore() {
        if (before_ < 0) return;
        std::fflush(stderr);
        dup2(before_, STDERR_FILENO);
        close(before_);
        before_ = -1;
    }
    std::FILE* file_ = std::tmpfile();
    int before_ = -1;
};

/// Open MPI 6.0.0rc2 says of this component in each creation of a window that it is not used, and adds an empty line.
std::string without_osc_ucx(const std::string& text) {
    std::istringstream lines{text};
    std::string rest;
    for (std::string line; std::getline(lines, line);) {
        const bool empty = line.find_first_not_of(' ') == std::string::npos;
        if (!empty && line.find("OSC UCX component priority set inside component query failed") == std::string::npos)
            rest += line + '\n';
    }
    return rest;
}

} // namespace

TEST_CASE("between hosts the path is found without configuration and without a word") {
    CapturedStderr captured;
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 1U << 20};
    CHECK(without_osc_ucx(captured.text()) == "");
    REQUIRE(runtime.nodes() == runtime.size());
    // Open MPI has no windows there, and MPICH makes messages of them, which are slower than Lapwing's own.
    CHECK(runtime.network_path() == lapwing::Path::service);
    CHECK(window.path(test::next(runtime)) == runtime.network_path());
    CHECK(runtime.progress_mode() == lapwing::ProgressMode::thread);

    const Rank to = test::next(runtime);
    std::vector<std::int64_t> values(100'000);
    std::iota(values.begin(), values.end(), runtime.rank().value);
    window.put(to, Offset{0}, std::span<const std::int64_t>{values});
    for (int i = 0; i < 20; ++i) window.atomic<std::int64_t>(Rank{0}, Offset{1'000'000}).fetch_add(1);
    runtime.barrier();
    CHECK(window.local_as<std::int64_t>()[99'999] == test::previous(runtime).value + 99'999);
    CHECK(window.get<std::int64_t>(Rank{0}, Offset{1'000'000}) == 20 * runtime.size());
    runtime.barrier();
}
