// Memory of GPUs is refused, as reported by a runtime library that happens to be loaded. Here mock libraries report it.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/error.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace {

using lapwing::Layout;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::UsageError;
using lapwing::Window;
using test::message_of;
using test::says;

/// A mock library, which stays loaded. It is loaded for this program alone, as an interpreter loads its extensions.
class MockDevice {
public:
    MockDevice(const char* file, const char* peek) : library_{dlopen(file, RTLD_NOW | RTLD_LOCAL)} {
        REQUIRE(library_ != nullptr);
        claim_ = reinterpret_cast<void (*)(void*, std::size_t)>(dlsym(library_, "mock_device_memory"));
        peek_ = reinterpret_cast<int (*)()>(dlsym(library_, peek));
    }
    void claim(void* memory, std::size_t bytes) const { claim_(memory, bytes); }
    [[nodiscard]] int last_error() const { return peek_(); }

private:
    void* library_;
    void (*claim_)(void*, std::size_t) = nullptr;
    int (*peek_)() = nullptr;
};

void check_refusals(const MockDevice& device) {
    Runtime runtime;
    Window window{runtime, 4096, {.name = "w"}};
    lapwing::GlobalArray<double, 1> array{runtime, {64}};
    std::vector<double> gpu(64, 1.0);
    std::vector<double> host(64, 2.0);
    device.claim(gpu.data(), gpu.size() * sizeof(double));
    const Rank target = test::next(runtime);
    const Layout columns = Layout::strided(4, 8, 16);
    const auto refused =
        says({runtime.who(), "is a GPU's", "copy it to memory of the host first", "managed or pinned"});
    CHECK_THAT(message_of<UsageError>([&] { window.put(target, Offset{0}, gpu); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { window.get(target, Offset{0}, gpu); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { window.start_put(target, Offset{0}, gpu).wait(); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { window.start_get(target, Offset{0}, gpu).wait(); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { window.put_notify(target, Offset{0}, gpu, 0); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { window.put(columns, gpu.data(), target, Offset{0}, columns); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { window.get(target, Offset{0}, columns, columns, gpu.data()); }), refused);
    lapwing::Plan plan = lapwing::Plan::put(window, columns, target, Offset{0}, columns);
    CHECK_THAT(message_of<UsageError>([&] { plan.start(gpu.data()).wait(); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { (void)plan.produce(gpu.data()); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { array({{0, 64}}).get(gpu); }), refused);
    CHECK_THAT(message_of<UsageError>([&] { array({{0, 64}}).put(gpu); }), refused);
    const std::vector<std::int64_t> indices{1, 5, 60};
    CHECK_THAT(message_of<UsageError>([&] { array.gather(indices, std::span{gpu}.first(3)); }), refused);
    const std::vector<Offset> offsets(2, Offset{0});
    CHECK_THAT(message_of<UsageError>(
                   [&] { window.fetch(lapwing::Atomic::add, target, offsets, 1.0, std::span{gpu}.first(2)); }),
               refused);
    // Memory of the host goes as ever, and what the library says of it is no error of the program's.
    window.put(target, Offset{0}, host);
    CHECK(window.get<double>(target, Offset{8}) == 2);
    plan.execute(host.data());
    array({{0, 64}}).get(host);
    CHECK(device.last_error() == 0);
    runtime.barrier();

    MPI_Win created = MPI_WIN_NULL;
    MPI_Win_create(runtime.rank() == 0 ? gpu.data() : host.data(), 512, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    CHECK_THAT(message_of<UsageError>([&] { (void)Window::adopt(runtime, created); }),
               says({runtime.who(), "Window::adopt", "cannot be used on rank 0", "memory of a GPU"}));
    device.claim(nullptr, 0);
    Window::adopt(runtime, created).close();
    MPI_Win_free(&created);
}

} // namespace

TEST_CASE("memory that CUDA's runtime calls a GPU's is refused by every call that would move it") {
    check_refusals(MockDevice{MOCK_CUDA, "cudaPeekAtLastError"});
}

TEST_CASE("memory that HIP's runtime calls a GPU's is refused, beside CUDA's") {
    check_refusals(MockDevice{MOCK_HIP, "hipPeekAtLastError"});
}
