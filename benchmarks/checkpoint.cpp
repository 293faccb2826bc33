// checkpoint: a global array to a file and back, compared with a plain collective write and read of the same bytes.
// Both are synchronised with the disk.
#include "harness.hpp"

#include <lapwing/checkpoint.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace lapwing::bench {
namespace {

constexpr std::int64_t side = 4096;

/// As by hand: every rank has an equal share of the bytes in one piece.
class PlainFile {
public:
    PlainFile(MPI_Comm world, std::string path, std::uint64_t bytes) : world_{world}, path_{std::move(path)} {
        MPI_Comm_rank(world, &rank_);
        int ranks = 1;
        MPI_Comm_size(world, &ranks);
        memory_.assign(bytes / static_cast<std::uint64_t>(ranks), std::byte{1});
    }
    /// Overwrites the file.
    void write() { write_to(path_); }
    /// Into a new file, which replaces the old one when it is complete, as save() does: a complete file exists at any
    /// time.
    void replace() {
        write_to(path_ + ".new");
        if (rank_ == 0) std::filesystem::rename(path_ + ".new", path_);
        MPI_Barrier(world_);
    }
    void write_to(const std::string& path) {
        MPI_File file = MPI_FILE_NULL;
        MPI_File_open(world_, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
        MPI_File_write_at_all(file, offset(), memory_.data(), static_cast<int>(memory_.size()), MPI_BYTE,
                              MPI_STATUS_IGNORE);
        MPI_File_sync(file);
        MPI_File_close(&file);
    }
    void read() {
        MPI_File file = MPI_FILE_NULL;
        MPI_File_open(world_, path_.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        MPI_File_read_at_all(file, offset(), memory_.data(), static_cast<int>(memory_.size()), MPI_BYTE,
                             MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }

private:
    [[nodiscard]] MPI_Offset offset() const {
        return static_cast<MPI_Offset>(rank_) * static_cast<MPI_Offset>(memory_.size());
    }

    MPI_Comm world_;
    std::string path_;
    int rank_ = 0;
    std::vector<std::byte> memory_;
};

void checkpoint(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    std::int64_t process = getpid();
    process = runtime.broadcast(process, Rank{0});
    const std::string path =
        (std::filesystem::temp_directory_path() / ("lapwing_bench_" + std::to_string(process))).string();
    constexpr std::uint64_t bytes = static_cast<std::uint64_t>(side * side) * sizeof(double);
    PlainFile plain{context.world(), path + ".plain", bytes};
    const auto rounds_of = [&](const std::string& name, auto once) {
        return Subject{.name = name,
                       .run =
                           [&runtime, once](std::uint64_t rounds) {
                               return together(runtime, [&] {
                                   for (std::uint64_t k = 0; k < rounds; ++k) once();
                               });
                           },
                       .iterations = 1};
    };
    const Subject write = rounds_of("MPI_File_write_at_all", [&] { plain.write(); });
    Subject replace = rounds_of("the same into a new file that replaces the old one", [&] { plain.replace(); });
    replace.case_suffix = ", by hand into a new file";
    const Subject read = rounds_of("MPI_File_read_at_all", [&] { plain.read(); });
    const auto row = [&](const char* name, const auto& distribution) {
        GlobalArray<double, 2> array{runtime, {side, side}, distribution};
        array.fill(1);
        context.compare(std::string{"save, "} + name, milliseconds(), rounds_of("save()", [&] { array.save(path); }),
                        {write, replace});
        context.compare(std::string{"load, "} + name, milliseconds(), rounds_of("load()", [&] { array.load(path); }),
                        {read});
        array.close();
    };
    row("rows", Block{.grid = {0, 1}});
    row("blocks of 64 x 64", BlockCyclic{.block = {64, 64}});
    runtime.barrier();
    if (runtime.rank() == Rank{0})
        for (const char* const end : {"", ".plain"}) std::filesystem::remove(path + end);
    runtime.close();
}

const Registration registration{
    {.name = "checkpoint",
     .summary = "128 MiB of an array saved and loaded, compared with one collective write and read",
     .run = checkpoint,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
