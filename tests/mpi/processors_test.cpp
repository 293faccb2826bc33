// Which processors belong to one core: read from directories like Linux's.
#include "src/mpi/processors.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using lapwing::detail::mpi::cores_of_processors;

/// A directory that describes processors; gone with its object.
class Machine {
public:
    Machine() : path_{std::filesystem::temp_directory_path() / ("lapwing-processors-" + std::to_string(getpid()))} {
        std::filesystem::create_directories(path_);
    }
    ~Machine() { std::filesystem::remove_all(path_); }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    void add(int processor, const std::string& siblings) const {
        const auto directory = path_ / ("cpu" + std::to_string(processor)) / "topology";
        std::filesystem::create_directories(directory);
        std::ofstream{directory / "thread_siblings_list"} << siblings << '\n';
    }
    [[nodiscard]] std::vector<int> cores() const { return cores_of_processors(path_.string()); }

private:
    std::filesystem::path path_;
};

TEST_CASE("two processors of a core, numbered far apart or side by side") {
    const Machine machine;
    machine.add(0, "0,2");
    machine.add(1, "1,3");
    machine.add(2, "0,2");
    machine.add(3, "1,3");
    machine.add(4, "4-5");
    machine.add(5, "4-5");
    CHECK(machine.cores() == std::vector<int>{0, 1, 0, 1, 4, 4});
}

TEST_CASE("a processor that is switched off leaves a gap") {
    const Machine machine;
    machine.add(0, "0");
    machine.add(10, "10");
    machine.add(2, "2");
    CHECK(machine.cores() == std::vector<int>{0, -1, 2, -1, -1, -1, -1, -1, -1, -1, 10});
}

TEST_CASE("without the system's files each processor is a core") {
    const std::vector<int> cores = Machine{}.cores();
    REQUIRE(cores.size() == static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF)));
    for (std::size_t i = 0; i < cores.size(); ++i) CHECK(cores[i] == static_cast<int>(i));
}

TEST_CASE("this machine has at least one core, and no core that is not one of its processors") {
    const std::vector<int> cores = cores_of_processors("/sys/devices/system/cpu");
    REQUIRE(std::any_of(cores.begin(), cores.end(), [](int core) { return core >= 0; }));
    for (const int core : cores) CHECK((core < 0 || cores.at(static_cast<std::size_t>(core)) == core));
}

} // namespace
