// Windows that one rank cannot have: all ranks get an error, and go on.
#include "team/team_test.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"
#include "support/pretended_memory.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

using lapwing::Offset;
using lapwing::RangeError;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Settings;
using lapwing::Window;
using test::message_of;
using test::says;

namespace {

/// Free bytes where MPI puts shared memory; all of the address space where there is no limit.
std::uint64_t free_shared_bytes() {
    struct statvfs file_system{};
    if (statvfs("/dev/shm", &file_system) != 0 || file_system.f_blocks == 0) return UINT64_MAX;
    return file_system.f_bavail * file_system.f_frsize;
}

/// Leaves this process so much more address space than it has, for a scope.
class ScopedAddressSpace {
public:
    explicit ScopedAddressSpace(std::uint64_t more_bytes) {
        std::ifstream file{"/proc/self/statm"};
        std::uint64_t pages = 0;
        file >> pages;
        getrlimit(RLIMIT_AS, &before_);
        rlimit limit = before_;
        limit.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
        setrlimit(RLIMIT_AS, &limit);
    }
    ~ScopedAddressSpace() { setrlimit(RLIMIT_AS, &before_); }
    /// An emulator, whose own memory is in the same space, ignores the limit.
    [[nodiscard]] bool limited() const {
        rlimit now{};
        getrlimit(RLIMIT_AS, &now);
        return now.rlim_cur != before_.rlim_cur;
    }
    ScopedAddressSpace(const ScopedAddressSpace&) = delete;
    ScopedAddressSpace& operator=(const ScopedAddressSpace&) = delete;

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("a window that one rank has no address space for is refused on all, and the next one works") {
    Runtime runtime;
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
    {
        const ScopedAddressSpace little{runtime.rank().value == 1 ? 128 * mebibyte : 4096 * mebibyte};
        if (!test::agree(runtime, little.limited())) return;
        CHECK_THAT(message_of<RangeError>([&] { (Window{runtime, 512 * mebibyte, {.name = "large"}}); }),
                   says({runtime.who(), "Window(\"large\")", "536870912 bytes asked for here",
                         "rank 1 cannot have its part", "Cannot allocate memory", "ask for less", "ulimit -v"}));
    }
    Window window{runtime, 64};
    window.put(test::next(runtime), Offset{8}, runtime.rank().value + 1);
    runtime.barrier();
    CHECK(window.local_as<int>()[2] == test::previous(runtime).value + 1);
    runtime.barrier();
}

TEST_CASE("a window that is too large for a node's shared memory says so, and what to do") {
    Settings of_mpi;
    of_mpi.set("LAPWING_NODE_MEMORY", "mpi");
    Runtime runtime{MPI_COMM_WORLD, of_mpi};
    const std::uint64_t available = free_shared_bytes();
    const auto memory =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if (!test::agree(runtime, available < memory && runtime.path(test::next(runtime)) == lapwing::Path::direct)) return;
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    CHECK_THAT(message_of<RangeError>([&] { (Window{runtime, available / ranks + (std::uint64_t{8} << 20)}); }),
               says({runtime.who(), "/dev/shm", "--shm-size", "together with the others of its node"}));
}

// By name, where /dev/shm has a mebibyte.
TEST_CASE("a window needs no room in /dev/shm", "[.small-shm]") {
    Runtime runtime;
    constexpr std::uint64_t bytes = std::uint64_t{64} << 20;
    REQUIRE(free_shared_bytes() <= std::uint64_t{1} << 20);
    REQUIRE(runtime.nodes() == 1);
    Window window{runtime, bytes};
    const Rank next = test::next(runtime);
    window.put(next, Offset{bytes - sizeof(int)}, runtime.rank().value + 1);
    runtime.barrier();
    CHECK(window.local_as<int>().back() == test::previous(runtime).value + 1);
    runtime.barrier();
}

TEST_CASE("the limit that a window exceeds is that of the rank that has it") {
    Runtime runtime;
    const bool small = runtime.rank().value == 1;
    test::pretended_pages = small ? 100 : 0;
    const std::string text = message_of<RangeError>([&] { (Window{runtime, 1U << 20}); });
    test::pretended_pages = 0;
    CHECK_THAT(text, says({runtime.who(), "1048576 bytes asked for here", "too many on rank 1",
                           std::string{"the limit "} + (small ? "here" : "there") + " is " +
                               std::to_string(100 * sysconf(_SC_PAGESIZE)) + " bytes, the memory of the machine"}));
    Window window{runtime, 64};
    runtime.barrier();
}

TEST_CASE("a window without a name has its number in messages") {
    Runtime runtime;
    Window first{runtime, 64};
    Window second{runtime, 64};
    lapwing::GlobalArray<double, 1> third{runtime, {10 * runtime.size()}, lapwing::Block{}};
    Window named{runtime, 64, {.name = "a"}};
    const auto refused = [&](Window& window) {
        return message_of<RangeError>([&] { window.put(Rank{0}, Offset{1000}, 1.0); });
    };
    CHECK_THAT(refused(first), says({runtime.who() + ": Window(#1).put"}));
    CHECK_THAT(refused(second), says({runtime.who() + ": Window(#2).put"}));
    CHECK_THAT(refused(third.window()), says({runtime.who() + ": Window(#3).put"}));
    CHECK_THAT(message_of<RangeError>([&] { (void)third.at(10 * runtime.size()); }),
               says({runtime.who() + ": GlobalArray(#3)"}));
    CHECK_THAT(refused(named), says({runtime.who() + ": Window(\"a\").put"}));
    CHECK_THAT(message_of<lapwing::UsageError>([&] { runtime.close(); }),
               says({"4 of its windows are open", "Window(#1)"}));
    runtime.barrier();
}
