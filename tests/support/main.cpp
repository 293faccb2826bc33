// The main program of every test on several ranks: the whole Catch2 session runs on all of them.
//
// - MPI is initialised here, with MPI_THREAD_MULTIPLE or the level that TEST_THREAD_LEVEL names.
// - Rank 0 prints. Another rank is heard only from its first failure on, each line with its rank.
// - The verdict is agreed by all ranks and printed before MPI_Finalize, since MPICH can hang there when all is well
//   (tests/support/mpich_yield_shim.c); `scripts/launch --verdict` judges by that line.
// - A test case that ends by an exception or a failed REQUIRE on one rank only may leave the others waiting in a
//   collective call. Nothing here can free them: the timeout of scripts/launch ends the run, and the failure has been
//   printed by then. test::on_all_ranks (mpi_test.hpp) is for test cases that would rather stop together.

#include "mpi_test.hpp"
#include "session.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace {

/// Writes whole lines to stdout with the rank before them; holds them back until a failure on ranks that are not heard.
class RankOutput : public std::streambuf {
public:
    RankOutput(int rank, int size) : heard_{rank == 0} {
        if (size > 1) prefix_ = "[rank " + std::to_string(rank) + "] ";
    }

    void make_heard() {
        heard_ = true;
        write_lines();
    }

protected:
    int_type overflow(int_type character) override {
        if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
        held_ += traits_type::to_char_type(character);
        if (held_.back() == '\n') write_lines();
        return character;
    }

    std::streamsize xsputn(const char* text, std::streamsize length) override {
        held_.append(text, static_cast<std::size_t>(length));
        write_lines();
        return length;
    }

    int sync() override {
        write_lines();
        return 0;
    }

private:
    void write_lines() {
        if (!heard_) return;
        // One write per line: the launcher merges the ranks' output by writes.
        for (std::size_t end = held_.find('\n'); end != std::string::npos; end = held_.find('\n')) {
            const std::string line = prefix_ + held_.substr(0, end + 1);
            std::fwrite(line.data(), 1, line.size(), stdout);
            held_.erase(0, end + 1);
        }
        std::fflush(stdout);
    }

    std::string prefix_;
    std::string held_;
    bool heard_;
};

int requested_thread_level() {
    const char* text = std::getenv("TEST_THREAD_LEVEL");
    const std::string_view level = text != nullptr ? text : "multiple";
    if (level == "single") return MPI_THREAD_SINGLE;
    if (level == "funneled") return MPI_THREAD_FUNNELED;
    if (level == "serialized") return MPI_THREAD_SERIALIZED;
    if (level == "multiple") return MPI_THREAD_MULTIPLE;
    std::fprintf(stderr, "TEST_THREAD_LEVEL is '%s'; it must be single, funneled, serialized or multiple\n", text);
    std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
    const int requested = requested_thread_level();
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, requested, &provided);
    // A communicator of its own: what a failed test left unreceived cannot reach the verdict.
    MPI_Comm verdict_communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &verdict_communicator);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(verdict_communicator, &rank);
    MPI_Comm_size(verdict_communicator, &size);

    int failed = 0;
    if (provided < requested) {
        // Both tested MPIs provide what is asked for; a test that silently ran with less would prove nothing.
        std::fprintf(stderr, "[rank %d] MPI provides thread level %d, %d was requested\n", rank, provided, requested);
        failed = 1;
    } else {
        RankOutput output{rank, size};
        std::streambuf* const before = std::cout.rdbuf(&output);
        failed = test::run_test_cases(argc, argv, [&] { output.make_heard(); });
        // Also when there was no assertion to fail: a wrong command line, no test of the given name.
        if (failed != 0) output.make_heard();
        std::cout.rdbuf(before);
    }

    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) {
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, verdict_communicator);
    }
    // After a test that has finalized MPI the ranks cannot agree any more; each says its own by its exit code.
    if (rank == 0) {
        std::printf("LAPWING-TEST-VERDICT %s\n", failed != 0 ? "failed" : test::skipped ? "skipped" : "passed");
        std::fflush(stdout);
    }
    if (finalized == 0) {
        MPI_Comm_free(&verdict_communicator);
        MPI_Finalize();
    }
    return failed;
}
