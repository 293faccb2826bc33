// Transfers with MPI datatypes: random nested datatypes on both sides against a byte-by-byte
// oracle, and what is refused.
#include "datatype/type_program.hpp"
#include "pipeline/random_transfers.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

using namespace lapwing;
using test::pattern;

namespace {

constexpr std::int64_t window_bytes = 1 << 15;

MpiDatatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return MpiDatatype{type};
}

MPI_Datatype vector_of(int count, int length, int stride, MPI_Datatype inner) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, length, stride, inner, &type);
    return type;
}

/// MPI reports errors of its own calls to the program, for a scope: some random types are none.
class QuietWorld {
public:
    QuietWorld() {
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    ~QuietWorld() {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
        MPI_Errhandler_free(&before_);
    }
    QuietWorld(const QuietWorld&) = delete;
    QuietWorld& operator=(const QuietWorld&) = delete;

private:
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// Elements of a random type, and where their bytes are from a base on.
struct Side {
    MpiDatatype type;
    std::int64_t count = 0;
    test::Flat flat;
    [[nodiscard]] Layout layout() const { return Layout::from_mpi(type.get(), count); }
    std::int64_t base = 0; ///< that brings all of them into [0, window_bytes)
};

/// Two sides of equally many bytes that fit; the bytes of `target` occur once.
bool make_sides(std::mt19937& random, Side& source, Side& target) {
    for (Side* const side : {&source, &target}) {
        std::vector<std::uint8_t> program(std::uniform_int_distribution<std::size_t>{4, 60}(random));
        for (std::uint8_t& byte : program) byte = static_cast<std::uint8_t>(random());
        test::TypeProgram run{program};
        MPI_Datatype type = run.type(3).release();
        if (type == MPI_DATATYPE_NULL) return false;
        side->type = committed(type);
        side->count = static_cast<std::int64_t>(Layout::from_mpi(side->type.get()).bytes());
        if (side->count == 0) return false;
    }
    const std::int64_t common = std::gcd(source.count, target.count);
    std::swap(source.count, target.count);
    for (Side* const side : {&source, &target}) {
        side->count /= common;
        if (side->count > 2000) return false;
        const Layout layout = side->layout();
        if (layout.bytes() > 16384 || layout.span() > static_cast<std::uint64_t>(window_bytes)) return false;
        side->flat = test::flatten(layout);
        side->base = -layout.lower() + std::uniform_int_distribution<std::int64_t>{
                                           0, window_bytes - static_cast<std::int64_t>(layout.span())}(random);
        // MPI takes no displacement below the start of a window.
        if (side->base < 0) return false;
    }
    return !test::has_duplicates(target.flat);
}

} // namespace

TEST_CASE("puts and gets of random datatypes move the bytes that MPI would") {
    const QuietWorld quiet;
    Runtime runtime;
    Window window{runtime, static_cast<std::uint64_t>(window_bytes)};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    const Rank next = test::next(runtime);
    const auto before = static_cast<std::uint64_t>(test::previous(runtime).value);
    std::mt19937 random{static_cast<unsigned>(test::number_from_environment("TEST_SEED", 5))};
    const std::uint64_t rounds = test::number_from_environment("TEST_ROUNDS", 60);
    std::vector<std::byte> memory(static_cast<std::size_t>(window_bytes));
    std::vector<std::byte> expected(memory.size());
    for (std::uint64_t round = 0; round < rounds; ++round) {
        Side source;
        Side target;
        while (!make_sides(random, source, target)) {
        }
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(me, round, i);
        // Twice: the second time the types are known.
        for (int time = 0; time < 2; ++time)
            window.put(source.layout(), memory.data() + source.base, next, target.base, target.layout());
        for (std::size_t k = 0; k < target.flat.size(); ++k)
            expected[static_cast<std::size_t>(target.base + target.flat[k])] =
                pattern(before, round, static_cast<std::uint64_t>(source.base + source.flat[k]));
        runtime.barrier();
        INFO("round " << round << ", seed with TEST_SEED");
        REQUIRE(test::agree(runtime, std::ranges::equal(window.local(), expected)));
        // Back, into other places: what the target's type is there is the source's here.
        std::vector<std::byte> back(memory.size(), std::byte{0xEE});
        std::vector<std::byte> fetched = back;
        const std::vector<std::byte> theirs = [&] {
            std::vector<std::byte> all(memory.size());
            window.get(next, Offset{0}, all);
            return all;
        }();
        for (std::size_t k = 0; k < target.flat.size(); ++k)
            fetched[static_cast<std::size_t>(target.base + target.flat[k])] =
                theirs[static_cast<std::size_t>(source.base + source.flat[k])];
        Completion completion =
            window.start_get(next, source.base, source.layout(), target.layout(), back.data() + target.base);
        completion.wait();
        REQUIRE(test::agree(runtime, back == fetched));
        runtime.barrier();
    }
    window.close();
    runtime.close();
}

TEST_CASE("a datatype that takes the handle of one that was freed is looked at anew") {
    Runtime runtime;
    Window window{runtime, 4096};
    const Rank next = test::next(runtime);
    std::vector<std::byte> memory(4096);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(0, 1, i);
    bool right = true;
    for (int stride = 2; stride < 12; ++stride) {
        MPI_Datatype type = committed(vector_of(10, 1, stride, MPI_INT)).release();
        window.put(Layout::from_mpi(type), memory.data(), next, 0, Layout::contiguous(40));
        MPI_Type_free(&type); // and the next one may be at the same place
        window.flush(next);
        std::vector<std::byte> back(40);
        window.get(next, Offset{0}, back);
        for (std::size_t i = 0; i < back.size(); ++i)
            right = right && back[i] == memory[i / 4 * 4 * static_cast<std::size_t>(stride) + i % 4];
    }
    CHECK(test::agree(runtime, right));
    window.close();
    runtime.close();
}

TEST_CASE("what MPI would not take is refused, and so are places outside of the window") {
    Runtime runtime;
    Window window{runtime, 1000};
    const Rank next = test::next(runtime);
    std::vector<std::byte> memory(1000);
    const auto put = [&](const Layout& source, Rank target, std::int64_t offset, const Layout& destination) {
        return test::message_of<RangeError>([&] { window.put(source, memory.data(), target, offset, destination); });
    };
    const Layout number = Layout::from_mpi(MPI_INT);
    CHECK_THAT(put(number, next, -4, number), test::says({"with a sign it is -4", "1000 bytes"}));
    CHECK_THAT(put(number, next, 997, number), test::says({"offset 997", "1000 bytes"}));
    CHECK_THAT(put(number, next, 0, Layout::from_mpi(MPI_INT, 2)), test::says({"4 bytes", "has 8"}));
    CHECK_THAT(put(number, 99, 0, number), test::says({"rank 99"}));
    CHECK_THAT(test::message_of<RangeError>([] { (void)Layout::from_mpi(MPI_DOUBLE, INT64_MAX); }),
               test::says({"times 8 bytes", "2^63"}));
    // It is no rank, and -1 in some MPIs, as a forgotten one is.
    CHECK_THAT(put(number, MPI_PROC_NULL, 0, number), test::says({"rank -"}));
    CHECK_NOTHROW(window.get(next, 0, Layout::from_mpi(MPI_INT, 0), Layout::from_mpi(MPI_INT, 0), memory.data()));
    runtime.barrier();
    window.close();
    runtime.close();
}
