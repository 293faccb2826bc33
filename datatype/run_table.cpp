#include "datatype/run_table.hpp"

#include "datatype/equal_pieces.hpp"
#include "datatype/kernels/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace lapwing::datatype {
namespace {

enum class Form : std::uint32_t {
    strided,    ///< nothing behind the record
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

/// Bytes of an entry behind a record, of a form that has one for each block of block_bytes; 0: another form.
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

} // namespace

RunTable encode_runs(LayoutCursor& cursor, std::uint64_t limit, std::byte* table, std::uint64_t room) noexcept {
    RunTable done;
    room = room / 8 * 8; // records stay aligned, with what fills up their entries
    while (done.data_bytes < limit && !cursor.done()) {
        if (room - done.table_bytes < least_table_bytes) break;
        const std::uint64_t entries_room = room - done.table_bytes - sizeof(Record);
        std::byte* const entries = table + done.table_bytes + sizeof(Record);
        BlockRun run = cursor.peek_run(limit - done.data_bytes);
        Record record{.count = run.count, .block_bytes = run.block_bytes, .offset = run.offset, .stride = run.stride};
        std::uint64_t entries_bytes = 0;
        const auto encode_offsets = [&](std::span<const std::int64_t> offsets) {
            // A record of its own for fewer would take more than it spares.
            constexpr std::uint64_t least_deltas = 64;
            const std::uint64_t deltas = encode_deltas(offsets, entries_room / sizeof(std::uint16_t), entries);
            if (deltas >= std::min<std::uint64_t>(least_deltas, offsets.size())) {
                record.form = Form::deltas_16;
                record.count = deltas;
                record.offset = run.offset + offsets[0];
            } else {
                // Those that the wider entries have room for; the lowest as the base keeps distances without a sign.
                record.count = std::min<std::uint64_t>(offsets.size(), entries_room / sizeof(std::uint32_t));
                auto [lowest, highest] = std::ranges::minmax(offsets.first(record.count));
                const std::uint64_t spread = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest);
                if (spread <= std::numeric_limits<std::uint32_t>::max()) {
                    record.form = Form::offsets_32;
                    for (std::uint64_t i = 0; i < record.count; ++i) {
                        const auto distance = static_cast<std::uint32_t>(offsets[i] - lowest);
                        std::memcpy(entries + i * sizeof distance, &distance, sizeof distance);
                    }
                    record.offset = run.offset + lowest;
                } else {
                    record.form = Form::offsets_64;
                    record.count = std::min<std::uint64_t>(record.count, entries_room / sizeof(std::int64_t));
                    std::memcpy(entries, offsets.data(), record.count * sizeof(std::int64_t));
                }
            }
            entries_bytes = record.count * entry_bytes(record.form);
            cursor.skip(record.count * record.block_bytes);
            done.data_bytes += record.count * record.block_bytes;
        };
        if (run.starts != nullptr) {
            PieceOffsets pieces;
            const auto equal_from = [&](std::uint64_t i) {
                return equal_pieces(run.offsets + i, run.starts + i, run.count - i, pieces);
            };
            const EqualPieces equal = equal_from(0);
            if (equal.pieces > 0) {
                record.block_bytes = equal.piece_bytes;
                encode_offsets({pieces.data(), equal.pieces});
            } else {
                const std::uint64_t most = std::min(run.count, entries_room / sizeof(ByteBlock));
                record.form = Form::blocks;
                record.count = equal.blocks;
                for (EqualPieces next; record.count < most; record.count += next.blocks)
                    if (next = equal_from(record.count); next.pieces > 0) break;
                record.count = std::min(record.count, most);
                for (std::uint64_t i = 0; i < record.count; ++i) {
                    ByteBlock block = run[i];
                    block.offset -= run.offset;
                    std::memcpy(entries + i * sizeof block, &block, sizeof block);
                }
                entries_bytes = record.count * sizeof(ByteBlock);
                cursor.skip(run.starts[record.count] - run.starts[0]);
                done.data_bytes += run.starts[record.count] - run.starts[0];
            }
        } else if (run.offsets != nullptr) {
            encode_offsets({run.offsets, run.count});
        } else {
            record.form = Form::strided;
            cursor.skip(run.bytes());
            done.data_bytes += run.bytes();
        }
        std::memcpy(table + done.table_bytes, &record, sizeof record);
        std::memset(entries + entries_bytes, 0, padded(entries_bytes) - entries_bytes);
        done.table_bytes += sizeof record + padded(entries_bytes);
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

/// Calls `copy(at, data offset, run)` for each run of a table, having checked that it is within the extent and the data.
template <class Copy>
bool for_each_run(std::span<const std::byte> table, std::uint64_t extent, std::uint64_t data_bytes, Copy&& copy) {
    std::uint64_t done = 0;
    while (!table.empty()) {
        Record record;
        if (table.size() < sizeof record) return false;
        std::memcpy(&record, table.data(), sizeof record);
        table = table.subspan(sizeof record);
        if (record.form == Form::blocks) {
            if (record.count > table.size() / sizeof(ByteBlock)) return false;
            for (std::uint64_t i = 0; i < record.count; ++i) {
                ByteBlock block;
                std::memcpy(&block, table.data() + i * sizeof block, sizeof block);
                if (block.bytes > data_bytes - done || !within(record.offset, block.offset, block.bytes, extent)) return false;
                copy(record.offset + block.offset, done, Run{.count = 1, .block_bytes = block.bytes});
                done += block.bytes;
            }
            table = table.subspan(record.count * sizeof(ByteBlock));
            continue;
        }
        std::uint64_t bytes = 0;
        if (record.count == 0 || __builtin_mul_overflow(record.count, record.block_bytes, &bytes) || bytes > data_bytes - done)
            return false;
        if (record.form == Form::strided) {
            std::int64_t last = 0;
            if (record.count - 1 > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
                __builtin_mul_overflow(static_cast<std::int64_t>(record.count - 1), record.stride, &last) ||
                !within(record.offset, 0, record.block_bytes, extent) || !within(record.offset, last, record.block_bytes, extent))
                return false;
            copy(record.offset, done, Run{.count = record.count, .block_bytes = record.block_bytes, .stride = record.stride});
            done += bytes;
            continue;
        }
        const std::uint64_t width = entry_bytes(record.form);
        if (width == 0 || record.count > table.size() / width) return false;
        std::array<std::int64_t, expanded> offsets;
        std::int64_t sum = 0; // of deltas: far from overflow, each being small and in the table
        for (std::uint64_t first = 0; first < record.count; first += expanded) {
            const std::uint64_t count = std::min(expanded, record.count - first);
            if (record.form == Form::deltas_16) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    std::uint16_t delta = 0;
                    std::memcpy(&delta, table.data() + (first + i) * width, width);
                    offsets[i] = sum += delta;
                }
            } else if (record.form == Form::offsets_32) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    std::uint32_t distance = 0;
                    std::memcpy(&distance, table.data() + (first + i) * width, width);
                    offsets[i] = distance;
                }
            } else {
                std::memcpy(offsets.data(), table.data() + first * width, count * width);
            }
            const auto [lowest, highest] = std::ranges::minmax(std::span{offsets.data(), count});
            if (!within(record.offset, lowest, record.block_bytes, extent) ||
                !within(record.offset, highest, record.block_bytes, extent))
                return false;
            copy(record.offset, done, Run{.count = count, .block_bytes = record.block_bytes, .offsets = offsets.data()});
            done += count * record.block_bytes;
        }
        const std::uint64_t entries = padded(record.count * width);
        if (entries > table.size()) return false;
        table = table.subspan(entries);
    }
    return done == data_bytes;
}

} // namespace

bool scatter_runs(std::span<const std::byte> table, std::byte* base, std::uint64_t extent,
                  std::span<const std::byte> data) noexcept {
    return for_each_run(table, extent, data.size(), [&](std::int64_t at, std::uint64_t from, const Run& run) {
        if (run.count == 1 && run.offsets == nullptr) std::memcpy(base + at, data.data() + from, run.block_bytes);
        else scatter(base + at, data.data() + from, run);
    });
}

bool gather_runs(std::span<const std::byte> table, const std::byte* base, std::uint64_t extent,
                 std::span<std::byte> data) noexcept {
    return for_each_run(table, extent, data.size(), [&](std::int64_t at, std::uint64_t to, const Run& run) {
        if (run.count == 1 && run.offsets == nullptr) std::memcpy(data.data() + to, base + at, run.block_bytes);
        else gather(data.data() + to, base + at, run);
    });
}

} // namespace lapwing::datatype
