// Shared by tests of teams and windows.
#pragma once

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include "support/catch.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace test {

/// Collective: true on every rank when `value` is true on all. Unlike test::on_all_ranks it serves the other ranks
/// while it waits: without a progress thread a rank inside an MPI collective would leave their requests unanswered.
[[nodiscard]] inline bool agree(lapwing::Team& team, bool value) {
    std::int64_t lowest = value ? 1 : 0;
    team.min(std::span<std::int64_t>{&lowest, 1});
    return lowest == 1;
}

/// A barrier of `those`, some ranks of the team, in which they serve each other: after a rank has left, say.
inline void serving_barrier(lapwing::Team& team, MPI_Comm those) {
    MPI_Request arrived = MPI_REQUEST_NULL;
    MPI_Ibarrier(those, &arrived);
    for (int done = 0; done == 0; MPI_Test(&arrived, &done, MPI_STATUS_IGNORE)) (void)team.progress();
}

/// The rank after this one, around the corner.
[[nodiscard]] inline lapwing::Rank next(const lapwing::Team& team) {
    return lapwing::Rank{(team.rank().value + 1) % team.size()};
}

/// The rank before this one, around the corner.
[[nodiscard]] inline lapwing::Rank previous(const lapwing::Team& team) {
    return lapwing::Rank{(team.rank().value + team.size() - 1) % team.size()};
}

/// Whether this MPI was initialised for calls from several threads.
[[nodiscard]] inline bool many_threads_allowed() {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

/// A number from the environment, to lengthen a test or to repeat one case of it.
[[nodiscard]] inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The text of the exception that `call` throws, which must be an `Expected`. Fails the test, and returns an empty
/// text, when it throws something else or nothing.
template <class Expected, class Call>
[[nodiscard]] std::string message_of(Call&& call) {
    try {
        call();
    } catch (const Expected& error) {
        return error.what();
    } catch (const std::exception& error) {
        FAIL_CHECK("another exception was thrown: " << error.what());
        return {};
    }
    FAIL_CHECK("nothing was thrown");
    return {};
}

/// Matches a text that contains all of `parts`: what an error message must name.
class Says : public Catch::MatcherBase<std::string> {
public:
    explicit Says(std::vector<std::string> parts) : parts_{std::move(parts)} {}

    bool match(const std::string& text) const override {
        for (const std::string& part : parts_)
            if (text.find(part) == std::string::npos) return false;
        return true;
    }
    std::string describe() const override {
        std::string text = "says";
        for (const std::string& part : parts_) text += " '" + part + "'";
        return text;
    }

private:
    std::vector<std::string> parts_;
};

[[nodiscard]] inline Says says(std::vector<std::string> parts) { return Says{std::move(parts)}; }

} // namespace test
