// Archives of OTF2 that cannot be written. tests/tools/otf2_test.py reads those that can.
#include "runtime/captured_stderr.hpp"
#include "runtime/otf2_writer.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/run_number.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>

#include <csignal>
#include <filesystem>
#include <string>

#include <sys/resource.h>

using namespace lapwing;
namespace runtime = lapwing::detail::runtime;
namespace trace = lapwing::detail::trace;

namespace {

/// While it exists, this process can write nothing to files.
class NoFiles {
public:
    NoFiles() : action_{std::signal(SIGXFSZ, SIG_IGN)} {
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit none = before_;
        none.rlim_cur = 0;
        setrlimit(RLIMIT_FSIZE, &none);
    }
    ~NoFiles() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, action_);
    }
    NoFiles(const NoFiles&) = delete;
    NoFiles& operator=(const NoFiles&) = delete;

private:
    void (*action_)(int);
    rlimit before_{};
};

} // namespace

TEST_CASE("an archive that one rank cannot write is an error of all ranks, and no rank waits for another") {
    if (!runtime::has_otf2()) return;
    Runtime team{MPI_COMM_WORLD, Settings{}};
    for (const int failing : {0, 1}) {
        const std::string directory =
            "lapwing-archive-" + std::to_string(failing) + "-" + std::to_string(test::run_number());
        const auto writer = runtime::make_otf2_writer(team, directory);
        const trace::ToolEvent access{.affinity = trace::Affinity::far, .owner = 1 - team.rank().value, .bytes = 8};
        for (int k = 0; k < 100; ++k) {
            writer->begin(access);
            writer->end(access);
        }
        (void)test::captured_stderr([&] { // OTF2 says what went wrong as well
            if (team.rank() == failing) {
                const NoFiles none;
                CHECK_THROWS_AS(writer->close(), FileError);
            } else {
                CHECK_THROWS_AS(writer->close(), FileError);
            }
        });
        team.barrier();
        if (team.rank() == 0) std::filesystem::remove_all(directory);
    }
}
