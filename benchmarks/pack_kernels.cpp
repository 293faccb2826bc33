// pack/kernels: the copy loops under pack and unpack, compared with what programs write by hand and beside MPI's
// derived datatypes.
#include "harness.hpp"

#include "src/kernels/copy_kernels.hpp"

#include <lapwing/runtime.hpp>

#include <fmt/format.h>
#include <hwy/cache_control.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::array<std::uint64_t, 11> block_lengths{4, 8, 12, 16, 24, 32, 64, 128, 512, 1024, 4096};

struct Spacing {
    const char* name;
    std::uint64_t blocks; ///< stride in blocks; 0: `bytes`
    std::uint64_t bytes;
    [[nodiscard]] std::uint64_t stride(std::uint64_t block_bytes) const {
        return blocks != 0 ? blocks * block_bytes : std::max(bytes, 2 * block_bytes);
    }
};
constexpr std::array<Spacing, 3> spacings{{{"2x", 2, 0}, {"3x", 3, 0}, {"4 KiB", 0, 4096}}};

/// Memory that begins with a page, its pages touched.
struct Memory {
    explicit Memory(std::size_t size) : bytes{size}, data{new(std::align_val_t{4096}) std::byte[size]} {
        std::uint32_t state = 1;
        for (std::size_t i = 0; i < size; ++i) {
            state = state * 1664525U + 1013904223U;
            data[i] = static_cast<std::byte>(state >> 24);
        }
    }
    ~Memory() { ::operator delete[](data, std::align_val_t{4096}); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    std::size_t bytes;
    std::byte* data;
};

class Datatype {
public:
    Datatype(std::uint64_t count, std::uint64_t block_bytes, std::uint64_t stride,
             const std::vector<std::int64_t>& offsets) {
        // As an application has it: doubles where the length allows, floats otherwise.
        const bool doubles = block_bytes % sizeof(double) == 0;
        const MPI_Datatype base = doubles ? MPI_DOUBLE : MPI_FLOAT;
        const int elements = static_cast<int>(block_bytes / (doubles ? sizeof(double) : sizeof(float)));
        if (offsets.empty()) {
            MPI_Type_create_hvector(static_cast<int>(count), elements, static_cast<MPI_Aint>(stride), base, &type_);
        } else {
            const std::vector<MPI_Aint> displacements(offsets.begin(), offsets.end());
            MPI_Type_create_hindexed_block(static_cast<int>(count), elements, displacements.data(), base, &type_);
        }
        MPI_Type_commit(&type_);
    }
    ~Datatype() { MPI_Type_free(&type_); }
    Datatype(const Datatype&) = delete;
    Datatype& operator=(const Datatype&) = delete;

    [[nodiscard]] MPI_Datatype get() const { return type_; }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

struct Cell {
    bool pack;
    std::uint64_t block_bytes;
    const Spacing* spacing;
    bool indexed;
    bool cold;

    [[nodiscard]] std::string name() const {
        return fmt::format("{} {} B {} {} {}", pack ? "pack" : "unpack", block_bytes, spacing->name,
                           indexed ? "indexed" : "regular", cold ? "cold" : "hot");
    }
};

/// One cell of the grid with its memory.
class Blocks {
public:
    explicit Blocks(const Cell& cell)
        : cell_{cell},
          stride_{cell.spacing->stride(cell.block_bytes)},
          count_{count(cell)},
          blocks_{count_ * stride_ + 4096},
          packed_{count_ * cell.block_bytes},
          offsets_{cell.indexed ? irregular() : std::vector<std::int64_t>{}},
          lines_{touched_lines()},
          datatype_{count_, cell.block_bytes, stride_, offsets_} {}

    void by_lapwing() {
        const detail::kernels::Run run{count_, cell_.block_bytes, static_cast<std::int64_t>(stride_),
                                       offsets_.empty() ? nullptr : offsets_.data()};
        if (cell_.pack) detail::kernels::gather(packed_.data, blocks_.data, run);
        else detail::kernels::scatter(blocks_.data, packed_.data, run);
    }

    void by_memcpy() {
        std::uint64_t bytes = cell_.block_bytes;
        keep_register(bytes); // the length is a value of run time where a library loops over blocks
        std::byte* packed = packed_.data;
        for (std::uint64_t k = 0; k < count_; ++k, packed += bytes) {
            std::byte* const block =
                blocks_.data + (offsets_.empty() ? static_cast<std::int64_t>(k * stride_) : offsets_[k]);
            if (cell_.pack) std::memcpy(packed, block, bytes);
            else std::memcpy(block, packed, bytes);
        }
    }

    void by_mpi() {
        int position = 0;
        const int bytes = static_cast<int>(packed_.bytes);
        if (cell_.pack) MPI_Pack(blocks_.data, 1, datatype_.get(), packed_.data, bytes, &position, MPI_COMM_SELF);
        else MPI_Unpack(packed_.data, bytes, &position, blocks_.data, 1, datatype_.get(), MPI_COMM_SELF);
    }

    /// The memory traffic of the copy and nothing else: reads a word of each line that is read, and writes a word of
    /// each that is written, with the lines to be written prefetched. No copy of blocks outside the first-level cache
    /// can be faster.
    void by_lines() {
        std::uint64_t sum = 0;
        const auto read = [&sum](const std::byte* line) { sum += static_cast<std::uint64_t>(*line); };
        const auto write = [](std::byte* line, const std::byte* ahead) {
            __builtin_prefetch(ahead, 0, 3);
            *line = std::byte{1};
        };
        const std::size_t n = lines_.size();
        std::size_t packed = 0;
        for (std::size_t i = 0; i < n; ++i) {
            std::byte* const line = blocks_.data + lines_[i];
            if (cell_.pack) read(line);
            else write(line, blocks_.data + lines_[std::min(i + 16, n - 1)]);
            // The lines of the contiguous side, spread evenly among them.
            for (; packed * n < (i + 1) * (packed_.bytes / 64); ++packed) {
                if (cell_.pack) write(packed_.data + packed * 64, packed_.data + packed * 64 + 512);
                else read(packed_.data + packed * 64);
            }
        }
        keep(sum);
    }

    /// Seconds of `iterations` copies. A cold one begins with everything that it touches in memory and not in a cache.
    template <void (Blocks::*Copy)()>
    double measure(std::uint64_t iterations) {
        if (!cell_.cold) {
            (this->*Copy)();
            const Stopwatch watch;
            for (std::uint64_t i = 0; i < iterations; ++i) (this->*Copy)();
            return watch.seconds();
        }
        double seconds = 0;
        for (std::uint64_t i = 0; i < iterations; ++i) {
            flush();
            const Stopwatch watch;
            (this->*Copy)();
            seconds += watch.seconds();
        }
        return seconds;
    }

    /// Throws when the three copies differ.
    void verify() {
        Memory& target = cell_.pack ? packed_ : blocks_;
        const auto result = [&](void (Blocks::*copy)()) {
            std::memset(target.data, 0, target.bytes);
            (this->*copy)();
            return std::vector<std::byte>(target.data, target.data + target.bytes);
        };
        const auto expected = result(&Blocks::by_memcpy);
        if (result(&Blocks::by_lapwing) != expected || result(&Blocks::by_mpi) != expected)
            throw std::runtime_error{fmt::format("{}: the copies differ", cell_.name())};
    }

    [[nodiscard]] double bytes() const { return static_cast<double>(packed_.bytes); }

private:
    /// Hot blocks fit in the first-level cache, except long ones and those a page apart, which are in the second level:
    /// a stride of a page maps all of them to one set of the first. Cold ones are many enough to time.
    static std::uint64_t count(const Cell& cell) {
        const std::uint64_t total = cell.cold ? 256 << 10 : 4 << 10;
        const std::uint64_t most = cell.spacing->blocks != 0 ? total : cell.cold ? 2048 : 256;
        return std::clamp<std::uint64_t>(total / cell.block_bytes, 16, most);
    }

    /// Blocks with gaps of random length that are a stride apart on average.
    [[nodiscard]] std::vector<std::int64_t> irregular() const {
        std::mt19937 random{7};
        std::vector<std::int64_t> offsets(count_);
        for (std::uint64_t k = 0; k < count_; ++k) {
            const std::uint64_t room = (stride_ - cell_.block_bytes) / 4;
            offsets[k] = static_cast<std::int64_t>(k * stride_ +
                                                   std::uniform_int_distribution<std::uint64_t>{0, room}(random) * 4);
        }
        return offsets;
    }

    /// Offsets of the lines that hold blocks, each once.
    [[nodiscard]] std::vector<std::uint64_t> touched_lines() const {
        std::vector<std::uint64_t> lines;
        for (std::uint64_t k = 0; k < count_; ++k) {
            const std::uint64_t begin = offsets_.empty() ? k * stride_ : static_cast<std::uint64_t>(offsets_[k]);
            for (std::uint64_t line = begin / 64 * 64; line < begin + cell_.block_bytes; line += 64)
                if (lines.empty() || line > lines.back()) lines.push_back(line);
        }
        return lines;
    }

    void flush() const {
        for (const std::uint64_t line : lines_) hwy::FlushCacheline(blocks_.data + line);
        for (std::uint64_t i = 0; i < packed_.bytes; i += 64) hwy::FlushCacheline(packed_.data + i);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }

    Cell cell_;
    std::uint64_t stride_;
    std::uint64_t count_;
    Memory blocks_;
    Memory packed_;
    std::vector<std::int64_t> offsets_;
    std::vector<std::uint64_t> lines_;
    Datatype datatype_;
};

void measure_cell(Context& context, const Cell& cell) {
    // Only rank 0 copies; its neighbours share the memory's bandwidth and would measure one another.
    std::unique_ptr<Blocks> blocks = context.rank() == 0 ? std::make_unique<Blocks>(cell) : nullptr;
    if (blocks) blocks->verify();
    const auto subject = [&]<void (Blocks::*Copy)()>(std::string name, std::string suffix) {
        const auto seconds = [&blocks, &context](std::uint64_t iterations) {
            MPI_Barrier(context.world());
            return blocks ? blocks->measure<Copy>(iterations) : 0.0;
        };
        // A fiftieth of the usual stretch: there are hundreds of cells, and a copy is short.
        std::uint64_t iterations = 1;
        if (blocks) {
            const double one = blocks->measure<Copy>(3) / 3;
            iterations = static_cast<std::uint64_t>(std::ceil(context.options().seconds / 50 / one));
        }
        MPI_Bcast(&iterations, 1, MPI_UINT64_T, 0, context.world());
        return Subject{std::move(name), seconds, iterations, std::move(suffix)};
    };
    const Subject lapwing = subject.template operator()<&Blocks::by_lapwing>("Lapwing", "");
    const Subject loop = subject.template operator()<&Blocks::by_memcpy>("memcpy loop", "");
    const Subject mpi = subject.template operator()<&Blocks::by_mpi>(cell.pack ? "MPI_Pack" : "MPI_Unpack", ", MPI");
    double bytes = blocks ? blocks->bytes() : 0;
    std::vector<Subject> baselines{loop, mpi};
    if (cell.cold || cell.spacing->bytes != 0)
        baselines.push_back(subject.template operator()<&Blocks::by_lines>("one word a line", ", limit"));
    context.compare(cell.name(), gigabytes_per_second(bytes), lapwing, std::move(baselines));
}

void pack_kernels(Context& context) {
    context.set_path("self");
    // Reads the profile of lapwing-tune, whose table of copy kernels then serves the process, as in any program.
    Runtime{}.close();
    for (const bool cold : {false, true}) {
#if !HWY_ARCH_X86
        if (cold) {
            context.skip("cold", "caches are flushed on x86 only");
            continue;
        }
#endif
        for (const std::uint64_t block_bytes : block_lengths) {
            const auto& wanted = context.options().sizes;
            if (!wanted.empty() && std::ranges::find(wanted, block_bytes) == wanted.end()) continue;
            for (const Spacing& spacing : spacings) {
                for (const bool indexed : {false, true}) {
                    for (const bool pack : {true, false})
                        measure_cell(context, {pack, block_bytes, &spacing, indexed, cold});
                }
            }
        }
    }
}

const Registration registration{
    {.name = "pack/kernels",
     .summary = "copies between blocks and contiguous memory, compared with memcpy and MPI_Pack",
     .run = pack_kernels,
     .default_repetitions = 7,
     .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
