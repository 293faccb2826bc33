// Random programs whose last rank leaves by an exception in the middle: what the others have written for each other
// arrives, whatever was in flight or cached for the one that left, and calls to ranks that stay never throw.
//
// A failure names the seed. TEST_SEED=n runs the program of that seed alone.
#include "src/support/mpi_kind.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/oracle.hpp"

#include <lapwing/layout.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using lapwing::Layout;
using lapwing::Offset;
using lapwing::PeerLeftError;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::Random;

/// Every rank has an area of this size in the segment of every rank, and writes nowhere else.
constexpr std::uint64_t area_bytes = 20'000;
constexpr int steps = 150;

enum class Kind { put, start_put, put_blocks, add, read, completes };

/// What a rank does in a step. It depends on nothing that happens.
struct Step {
    Kind kind{};
    int to = 0;
    std::uint64_t offset = 0; ///< in the area, a multiple of 8
    std::vector<std::byte> bytes;
};

Step step_of(std::uint64_t seed, int rank, int number, int ranks) {
    Random random{seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(number), 5};
    constexpr std::array kinds{Kind::put,  Kind::put,  Kind::put,  Kind::start_put, Kind::put_blocks,
                               Kind::read, Kind::read, Kind::read, Kind::add,       Kind::completes};
    Step step;
    step.kind = kinds[random.below(kinds.size())];
    step.to = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
    const std::uint64_t words = 1 + random.below(random.chance(80) ? 8 : 1000);
    step.offset = 8 * random.below(area_bytes / 8 - 2 * words);
    step.bytes.resize(8 * words);
    random.fill(step.bytes);
    return step;
}

/// Every second word of twice as many.
Layout every_second_word(const Step& step) { return Layout::strided(step.bytes.size() / 8, 8, 16); }

/// What the step leaves in an area.
void write_into(const Step& step, std::span<std::byte> area) {
    std::byte* const to = area.data() + step.offset;
    if (step.kind == Kind::put || step.kind == Kind::start_put) {
        std::ranges::copy(step.bytes, to);
    } else if (step.kind == Kind::put_blocks) {
        for (std::size_t i = 0; i < step.bytes.size(); i += 8) std::memcpy(to + 2 * i, &step.bytes[i], 8);
    } else if (step.kind == Kind::add) {
        std::int64_t word = 0;
        std::memcpy(&word, to, 8);
        word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) + step.bytes.size());
        std::memcpy(to, &word, 8);
    }
}

using Area = std::vector<std::byte>;

/// The areas of one rank in the segments of all, which begin as zeros.
std::vector<Area> areas_of(std::uint64_t seed, int rank, int ranks) {
    std::vector<Area> areas(static_cast<std::size_t>(ranks), Area(area_bytes));
    for (int number = 0; number < steps; ++number) {
        const Step step = step_of(seed, rank, number, ranks);
        write_into(step, areas[static_cast<std::size_t>(step.to)]);
    }
    return areas;
}

/// The part of one rank, which stays.
class Survivor {
public:
    Survivor(Runtime& runtime, Window& window, std::uint64_t seed, MPI_Comm stayed)
        : runtime_{runtime},
          window_{window},
          seed_{seed},
          stayed_{stayed},
          ranks_{runtime.size()},
          last_{runtime.size() - 1},
          areas_(static_cast<std::size_t>(ranks_), Area(area_bytes)) {}

    void run(int begin, int end) {
        for (int number = begin; number < end; ++number) {
            const Step step = step_of(seed_, runtime_.rank().value, number, ranks_);
            INFO("step " << number << " to rank " << step.to);
            if (step.to == last_) {
                try {
                    make(step);
                } catch (const PeerLeftError&) { // the news may be here
                }
            } else {
                CHECK_NOTHROW(make(step));
            }
            write_into(step, areas_[static_cast<std::size_t>(step.to)]);
        }
    }

    /// What is under way for ranks that stay is complete on return, on all of them.
    void complete() {
        CHECK_THROWS_AS(runtime_.barrier(), PeerLeftError); // the last has left, and does not see others leave
        for (Started& started : started_) finish(started);
        for (int attempt = 0; attempt < 2; ++attempt) { // the first may report what was for the one that left
            try {
                runtime_.release();
            } catch (const PeerLeftError&) {
                CHECK(attempt == 0);
            }
        }
        for (int rank = 0; rank < last_; ++rank) CHECK_NOTHROW(window_.flush(Rank{rank}));
        test::serving_barrier(runtime_, stayed_);
        window_.acquire();
    }

    void check() {
        const auto own = static_cast<std::size_t>(runtime_.rank().value);
        for (int from = 0; from < last_; ++from) {
            const Area expected = areas_of(seed_, from, ranks_)[own];
            const std::span<const std::byte> seen = window_.local().subspan(area(from), area_bytes);
            INFO("from rank " << from);
            CHECK(std::ranges::equal(seen, expected));
        }
        for (int to = 0; to < last_; ++to) CHECK(read(to, 0, area_bytes) == areas_[static_cast<std::size_t>(to)]);
        test::serving_barrier(runtime_, stayed_); // nobody leaves before the others have been served
    }

private:
    struct Started {
        int to;
        std::vector<std::byte> bytes;
        lapwing::Completion completion;
    };

    [[nodiscard]] static std::uint64_t area(int rank) { return static_cast<std::uint64_t>(rank) * area_bytes; }
    [[nodiscard]] Offset place(std::uint64_t offset) const { return Offset{area(runtime_.rank().value) + offset}; }

    [[nodiscard]] std::vector<std::byte> read(int to, std::uint64_t offset, std::uint64_t bytes) {
        std::vector<std::byte> seen(bytes);
        window_.get(Rank{to}, place(offset), seen);
        return seen;
    }

    void make(const Step& step) {
        const Rank to{step.to};
        switch (step.kind) {
        case Kind::put: window_.put(to, place(step.offset), step.bytes); break;
        case Kind::start_put: {
            Started started{step.to, step.bytes, {}};
            started.completion = window_.start_put(to, place(step.offset), started.bytes);
            started_.push_back(std::move(started));
            break;
        }
        case Kind::put_blocks:
            window_.put(Layout::contiguous(step.bytes.size()), step.bytes.data(), to, place(step.offset),
                        every_second_word(step));
            break;
        case Kind::add:
            window_.atomic<std::int64_t>(to, place(step.offset)).add(static_cast<std::int64_t>(step.bytes.size()));
            break;
        case Kind::read: {
            const Area& area = areas_[static_cast<std::size_t>(step.to)];
            const auto expected = std::span{area}.subspan(step.offset, step.bytes.size());
            const std::vector<std::byte> seen = read(step.to, step.offset, step.bytes.size());
            if (step.to != last_) CHECK(std::ranges::equal(seen, expected)); // writes to that one may be lost
            break;
        }
        case Kind::completes:
            for (Started& started : started_) finish(started);
            started_.clear();
            break;
        }
    }

    void finish(Started& started) {
        try {
            started.completion.wait();
        } catch (const PeerLeftError&) {
            CHECK(started.to == last_);
        }
    }

    Runtime& runtime_;
    Window& window_;
    std::uint64_t seed_;
    MPI_Comm stayed_;
    int ranks_;
    int last_;
    std::vector<Area> areas_;
    std::vector<Started> started_;
};

/// Collective over all processes.
void run_program(std::uint64_t seed) {
    INFO("TEST_SEED=" << seed);
    const int last = test::world_size() - 1;
    MPI_Comm stayed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, test::world_rank() == last ? 1 : 0, 0, &stayed);
    const std::array<lapwing::CacheOptions, 3> caches{
        lapwing::CacheOptions{},
        {.mode = lapwing::CacheMode::epoch},
        {.mode = lapwing::CacheMode::epoch, .bytes = 16384, .page_bytes = 1024}};
    Random random{seed, 1, 2, 3};
    const int leaves_after = static_cast<int>(random.below(steps));
    try {
        // With each rank a node of its own there is something to lose.
        lapwing::Settings settings;
        if (random.chance(80)) {
            settings.set("LAPWING_NODE", "each");
            // MPI's windows are not freed here, for which MPICH 4.0.2 over UCX ends in MPI_Finalize.
            using lapwing::detail::support::MpiKind;
            if (lapwing::detail::support::mpi_kind == MpiKind::mpich) settings.set("LAPWING_PATH", "service");
        }
        Runtime runtime{MPI_COMM_WORLD, settings};
        Window window{runtime,
                      area_bytes * static_cast<std::uint64_t>(runtime.size()),
                      {.name = "areas", .cache = caches[random.below(caches.size())]}};
        std::ranges::fill(window.local(), std::byte{0});
        runtime.barrier();
        Survivor survivor{runtime, window, seed, stayed};
        // The last is one like the others, until it leaves with all that it has under way.
        survivor.run(0, leaves_after);
        if (test::world_rank() == last) throw std::logic_error{"an error of the program"};
        survivor.run(leaves_after, steps);
        survivor.complete();
        survivor.check();
        throw std::logic_error{"an error of the program"};
    } catch (const std::logic_error& error) {
        CHECK(std::string{error.what()} == "an error of the program");
    }
    MPI_Comm_free(&stayed);
    test::world_barrier();
}

} // namespace

TEST_CASE("random programs go on when a rank has left") {
    if (test::world_size() < 3) return;
    const std::uint64_t only = test::number_from_environment("TEST_SEED", 0);
    for (std::uint64_t seed = only == 0 ? 1 : only; seed <= (only == 0 ? 12 : only); ++seed) run_program(seed);
}
