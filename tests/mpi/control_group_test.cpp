// Limits of memory by control groups of both versions, as the files of /sys/fs/cgroup say them.
#include "src/support/control_group.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace {

using lapwing::detail::support::memory_of_control_group;
namespace fs = std::filesystem;

/// A directory with the files of a system, for the test.
class GroupFiles {
public:
    GroupFiles() : directory_{fs::temp_directory_path() / ("lapwing-groups-" + std::to_string(getpid()))} {
        fs::remove_all(directory_);
    }
    ~GroupFiles() { fs::remove_all(directory_); }
    GroupFiles(const GroupFiles&) = delete;
    GroupFiles& operator=(const GroupFiles&) = delete;

    void write(const std::string& path, const std::string& text) {
        const fs::path file = directory_ / path;
        fs::create_directories(file.parent_path());
        std::ofstream{file} << text;
    }
    [[nodiscard]] std::uint64_t limit() const {
        return memory_of_control_group(directory_ / "membership", directory_ / "groups");
    }

private:
    fs::path directory_;
};

constexpr std::uint64_t none = ~std::uint64_t{0};

} // namespace

TEST_CASE("the lowest limit of a group and of those that it is in counts") {
    GroupFiles files;
    CHECK(files.limit() == none);
    files.write("membership", "0::/jobs/7/step\n");
    CHECK(files.limit() == none);
    files.write("groups/jobs/7/step/memory.max", "max\n");
    CHECK(files.limit() == none);
    files.write("groups/jobs/7/memory.max", "5000\n");
    files.write("groups/jobs/memory.max", "7000\n");
    CHECK(files.limit() == 5000);
    files.write("groups/jobs/7/step/memory.max", "3000\n");
    CHECK(files.limit() == 3000);
}

TEST_CASE("of a container the group at the top is its own, whatever its path is outside") {
    GroupFiles files;
    files.write("membership", "0::/docker/0123\n");
    files.write("groups/memory.max", "4000\n");
    CHECK(files.limit() == 4000);
}

TEST_CASE("version 1 has a hierarchy for memory") {
    GroupFiles files;
    files.write("membership", "9:name=systemd:/\n4:cpu,memory,pids:/jobs/7\n0::/\n");
    files.write("groups/memory/jobs/7/memory.limit_in_bytes", "6000\n");
    files.write("groups/memory.max", "8000\n");
    CHECK(files.limit() == 6000);
    files.write("membership", "9:cpu:/jobs/7\nnonsense\n");
    CHECK(files.limit() == none);
}
