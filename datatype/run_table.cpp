#include "datatype/run_table.hpp"

#include "datatype/equal_units.hpp"
#include "src/kernels/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace lapwing::detail::datatype {
namespace {

enum class Form : std::uint32_t {
    strided,    ///< nothing after the record
    offsets_32, ///< `count` distances from `offset`, 4 bytes each
    offsets_64, ///< the same, 8 bytes each
    blocks,     ///< `count` ByteBlocks relative to `offset`; block_bytes is of no meaning
    deltas_16,  ///< `count` distances from the block before, the first from `offset`, 2 bytes each
};

struct Record {
    Form form{};
    std::uint32_t reserved = 0;
    std::uint64_t count = 0;
    std::uint64_t block_bytes = 0;
    std::int64_t offset = 0;
    std::int64_t stride = 0;
};
static_assert(sizeof(Record) == 40 && least_table_bytes >= sizeof(Record) + sizeof(ByteBlock));

constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Offsets that are expanded at a time for a kernel call.
constexpr std::uint64_t expanded = 512;

/// Bytes of an entry after a record, for a form that has one for each block of block_bytes; 0: another form.
constexpr std::uint64_t entry_bytes(Form form) {
    switch (form) {
    case Form::deltas_16: return sizeof(std::uint16_t);
    case Form::offsets_32: return sizeof(std::uint32_t);
    case Form::offsets_64: return sizeof(std::int64_t);
    default: return 0;
    }
}

/// Writes the distances of offsets in ascending order, at most `most`, as far as each fits 2 bytes; how many.
std::uint64_t encode_deltas(std::span<const std::int64_t> offsets, std::uint64_t most, std::byte* entries) noexcept {
    most = std::min<std::uint64_t>(most, offsets.size());
    std::uint64_t count = 0;
    for (std::int64_t before = offsets[0]; count < most; ++count) {
        const std::uint64_t delta = static_cast<std::uint64_t>(offsets[count]) - static_cast<std::uint64_t>(before);
        if (delta > std::numeric_limits<std::uint16_t>::max()) break;
        const auto narrow = static_cast<std::uint16_t>(delta);
        std::memcpy(entries + count * sizeof narrow, &narrow, sizeof narrow);
        before = offsets[count];
    }
    return count;
}

/// A record and what follows it.
struct Encoded {
    Record record;
    std::uint64_t entries_bytes = 0;
    std::uint64_t data_bytes = 0; ///< of the layout that it describes
};

/// The first of equal blocks at `offsets` from record.offset, as many as the entries have room for.
Encoded encode_offsets(Record record, std::span<const std::int64_t> offsets, std::span<std::byte> entries) noexcept {
    // A separate record for fewer would take more than it saves.
    constexpr std::uint64_t least_deltas = 64;
    const std::uint64_t deltas = encode_deltas(offsets, entries.size() / sizeof(std::uint16_t), entries.data());
    if (deltas >= std::min<std::uint64_t>(least_deltas, offsets.size())) {
        record.form = Form::deltas_16;
        record.count = deltas;
        record.offset += offsets[0];
    } else {
        // Those that the wider entries have room for; the lowest as the base keeps distances without a sign.
        record.count = std::min<std::uint64_t>(offsets.size(), entries.size() / sizeof(std::uint32_t));
        auto [lowest, highest] = std::ranges::minmax(offsets.first(record.count));
        const std::uint64_t spread = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest);
        if (spread <= std::numeric_limits<std::uint32_t>::max()) {
            record.form = Form::offsets_32;
            for (std::uint64_t i = 0; i < record.count; ++i) {
                const auto distance = static_cast<std::uint32_t>(offsets[i] - lowest);
                std::memcpy(entries.data() + i * sizeof distance, &distance, sizeof distance);
            }
            record.offset += lowest;
        } else {
            record.form = Form::offsets_64;
            record.count = std::min<std::uint64_t>(record.count, entries.size() / sizeof(std::int64_t));
            std::memcpy(entries.data(), offsets.data(), record.count * sizeof(std::int64_t));
        }
    }
    return {record, record.count * entry_bytes(record.form), record.count * record.block_bytes};
}

/// The first of blocks with different lengths: equal units of them if there are any, else the blocks up to such units.
Encoded encode_list(Record record, const BlockRun& run, std::span<std::byte> entries) noexcept {
    UnitOffsets units;
    const auto equal_from = [&](std::uint64_t i) {
        return equal_units(run.offsets + i, run.starts + i, run.count - i, units);
    };
    const EqualUnits equal = equal_from(0);
    if (equal.units > 0) {
        record.block_bytes = equal.unit_bytes;
        return encode_offsets(record, {units.data(), equal.units}, entries);
    }
    const std::uint64_t most = std::min(run.count, entries.size() / sizeof(ByteBlock));
    record.form = Form::blocks;
    record.count = equal.blocks;
    for (EqualUnits next; record.count < most; record.count += next.blocks)
        if (next = equal_from(record.count); next.units > 0) break;
    record.count = std::min(record.count, most);
    for (std::uint64_t i = 0; i < record.count; ++i) {
        ByteBlock block = run[i];
        block.offset -= run.offset;
        std::memcpy(entries.data() + i * sizeof block, &block, sizeof block);
    }
    return {record, record.count * sizeof(ByteBlock), run.starts[record.count] - run.starts[0]};
}

Encoded encode_run(const BlockRun& run, std::span<std::byte> entries) noexcept {
    const Record record{.count = run.count, .block_bytes = run.block_bytes, .offset = run.offset, .stride = run.stride};
    if (run.starts != nullptr) return encode_list(record, run, entries);
    if (run.offsets != nullptr) return encode_offsets(record, {run.offsets, run.count}, entries);
    return {record, 0, run.bytes()};
}

} // namespace

RunTable encode_runs(LayoutCursor& cursor, std::uint64_t limit, std::byte* table, std::uint64_t room) noexcept {
    RunTable done;
    room = room / 8 * 8; // records stay aligned, with what fills up their entries
    while (done.data_bytes < limit && !cursor.done() && room - done.table_bytes >= least_table_bytes) {
        std::byte* const at = table + done.table_bytes;
        const std::span<std::byte> entries{at + sizeof(Record), room - done.table_bytes - sizeof(Record)};
        const Encoded run = encode_run(cursor.peek_run(limit - done.data_bytes), entries);
        std::memcpy(at, &run.record, sizeof run.record);
        std::memset(entries.data() + run.entries_bytes, 0, padded(run.entries_bytes) - run.entries_bytes);
        cursor.skip(run.data_bytes);
        done.data_bytes += run.data_bytes;
        done.table_bytes += sizeof run.record + padded(run.entries_bytes);
    }
    return done;
}

namespace {

/// Whether [offset + distance, … + bytes) is within [0, extent).
bool within(std::int64_t offset, std::int64_t distance, std::uint64_t bytes, std::uint64_t extent) {
    std::int64_t begin = 0;
    return !__builtin_add_overflow(offset, distance, &begin) && begin >= 0 && bytes <= extent &&
           static_cast<std::uint64_t>(begin) <= extent - bytes;
}

/// Calls `copy(at, data offset, run)` for each run of a table, having checked that it is within the extent and the
/// data.
template <class Copy>
class RunReader {
public:
    RunReader(std::span<const std::byte> table, std::uint64_t extent, std::uint64_t data_bytes, Copy& copy)
        : table_{table}, extent_{extent}, data_bytes_{data_bytes}, copy_{copy} {}

    /// False if the table is not valid.
    [[nodiscard]] bool read() {
        while (!table_.empty()) {
            Record record;
            if (table_.size() < sizeof record) return false;
            std::memcpy(&record, table_.data(), sizeof record);
            table_ = table_.subspan(sizeof record);
            const bool good = record.form == Form::blocks    ? read_blocks(record)
                              : !holds(record)               ? false
                              : record.form == Form::strided ? read_strided(record)
                                                             : read_offsets(record);
            if (!good) return false;
        }
        return done_ == data_bytes_;
    }

private:
    /// Whether the data has as many bytes as the equal blocks of a record. The blocks must not be empty: any number of
    /// empty blocks would fit.
    [[nodiscard]] bool holds(const Record& record) const {
        std::uint64_t bytes = 0;
        return record.count != 0 && record.block_bytes != 0 &&
               !__builtin_mul_overflow(record.count, record.block_bytes, &bytes) && bytes <= data_bytes_ - done_;
    }

    [[nodiscard]] bool read_blocks(const Record& record) {
        if (record.count > table_.size() / sizeof(ByteBlock)) return false;
        for (std::uint64_t i = 0; i < record.count; ++i) {
            ByteBlock block;
            std::memcpy(&block, table_.data() + i * sizeof block, sizeof block);
            if (block.bytes > data_bytes_ - done_ || !within(record.offset, block.offset, block.bytes, extent_))
                return false;
            copy_(record.offset + block.offset, done_, kernels::Run{.count = 1, .block_bytes = block.bytes});
            done_ += block.bytes;
        }
        table_ = table_.subspan(record.count * sizeof(ByteBlock));
        return true;
    }

    [[nodiscard]] bool read_strided(const Record& record) {
        std::int64_t last = 0;
        if (record.count - 1 > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
            __builtin_mul_overflow(static_cast<std::int64_t>(record.count - 1), record.stride, &last) ||
            !within(record.offset, 0, record.block_bytes, extent_) ||
            !within(record.offset, last, record.block_bytes, extent_))
            return false;
        copy_(record.offset, done_,
              kernels::Run{.count = record.count, .block_bytes = record.block_bytes, .stride = record.stride});
        done_ += record.count * record.block_bytes;
        return true;
    }

    [[nodiscard]] bool read_offsets(const Record& record) {
        const std::uint64_t width = entry_bytes(record.form);
        if (width == 0 || record.count > table_.size() / width) return false;
        std::array<std::int64_t, expanded> offsets;
        std::int64_t before = 0; // sum of deltas: far from overflow, each being small and in the table
        for (std::uint64_t first = 0; first < record.count; first += expanded) {
            const std::span some{offsets.data(), std::min(expanded, record.count - first)};
            expand(record.form, table_.data() + first * width, some, before);
            const auto [lowest, highest] = std::ranges::minmax(some);
            if (!within(record.offset, lowest, record.block_bytes, extent_) ||
                !within(record.offset, highest, record.block_bytes, extent_))
                return false;
            copy_(record.offset, done_,
                  kernels::Run{.count = some.size(), .block_bytes = record.block_bytes, .offsets = some.data()});
            done_ += some.size() * record.block_bytes;
        }
        const std::uint64_t entries = padded(record.count * width);
        if (entries > table_.size()) return false;
        table_ = table_.subspan(entries);
        return true;
    }

    /// The offsets that entries mean. `before` is that of the block before the first delta, then of the last.
    static void expand(Form form, const std::byte* entries, std::span<std::int64_t> offsets, std::int64_t& before) {
        if (form == Form::offsets_64) {
            std::memcpy(offsets.data(), entries, offsets.size_bytes());
            return;
        }
        for (std::uint64_t i = 0; i < offsets.size(); ++i) {
            if (form == Form::deltas_16) {
                std::uint16_t delta = 0;
                std::memcpy(&delta, entries + i * sizeof delta, sizeof delta);
                offsets[i] = before += delta;
            } else {
                std::uint32_t distance = 0;
                std::memcpy(&distance, entries + i * sizeof distance, sizeof distance);
                offsets[i] = distance;
            }
        }
    }

    std::span<const std::byte> table_;
    std::uint64_t extent_;
    std::uint64_t data_bytes_;
    std::uint64_t done_ = 0; ///< bytes of the data
    Copy& copy_;
};

template <class Copy>
bool for_each_run(std::span<const std::byte> table, std::uint64_t extent, std::uint64_t data_bytes, Copy&& copy) {
    return RunReader{table, extent, data_bytes, copy}.read();
}

} // namespace

bool scatter_runs(std::span<const std::byte> table, std::byte* base, std::uint64_t extent,
                  std::span<const std::byte> data) noexcept {
    return for_each_run(table, extent, data.size(), [&](std::int64_t at, std::uint64_t from, const kernels::Run& run) {
        if (run.count == 1 && run.offsets == nullptr) std::memcpy(base + at, data.data() + from, run.block_bytes);
        else scatter(base + at, data.data() + from, run);
    });
}

bool gather_runs(std::span<const std::byte> table, const std::byte* base, std::uint64_t extent,
                 std::span<std::byte> data) noexcept {
    return for_each_run(table, extent, data.size(), [&](std::int64_t at, std::uint64_t to, const kernels::Run& run) {
        if (run.count == 1 && run.offsets == nullptr) std::memcpy(data.data() + to, base + at, run.block_bytes);
        else gather(data.data() + to, base + at, run);
    });
}

} // namespace lapwing::detail::datatype
