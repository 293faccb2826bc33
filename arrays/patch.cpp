#include <lapwing/patch.hpp>

#include "arrays/pending_transfers.hpp"
#include "arrays/section_layouts.hpp"
#include "datatype/strided_copy.hpp"
#include "src/support/device_memory.hpp"
#include "window/recorded_calls.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

namespace lapwing::detail::arrays {

PatchTransfer::PatchTransfer(Window& window, Direction direction, std::byte* buffer, std::uint64_t element_bytes,
                             bool replicated)
    : window_{window}, direction_{direction}, replicated_{replicated}, buffer_{buffer}, element_bytes_{element_bytes} {
    support::require_host_memory(buffer,
                                 [&] { return window.state().who(direction == Direction::get ? "get" : "put"); });
}

PatchTransfer::~PatchTransfer() = default;

void PatchTransfer::visit(const distribution::Section& section) {
    if (!replicated_) return carry(section.owner, section);
    const transport::MemoryMap& map = window_.map();
    if (direction_ == Direction::get) return carry(map.own_rank, section);
    // Each rank starts with its neighbour, so that they do not all write to the same one at a time.
    for (int step = 1; step <= map.ranks; ++step) carry((map.own_rank + step) % map.ranks, section);
}

void PatchTransfer::carry(int owner, const distribution::Section& section) {
    const transport::MemoryMap& map = window_.map();
    // A distribution of the program's own may be wrong; nothing is read or written outside of the owner's segment.
    distribution::uint128 end = section.owner_offset + distribution::uint128{1};
    for (const distribution::SectionLevel& level : section.levels)
        end += distribution::uint128{level.count - 1} * level.owner_stride;
    if (owner < 0 || owner >= map.ranks || end * element_bytes_ > map.bytes(owner))
        throw RangeError{fmt::format(
            "{}: the distribution puts elements at rank {} of {}, up to offset {} of a part of {} "
            "bytes; correct its locate()",
            window_.state().who("patch"), owner, map.ranks, static_cast<std::uint64_t>(end) * element_bytes_,
            owner >= 0 && owner < map.ranks ? map.bytes(owner) : 0)};
    if (trace::on()) [[unlikely]]
        note(owner, section);
    if (std::byte* const segment = map.base(owner)) copy(owner, segment, section);
    else start(owner, section);
}

void PatchTransfer::note(int owner, const distribution::Section& section) const {
    std::uint64_t elements = 1;
    for (const distribution::SectionLevel& level : section.levels) elements *= level.count;
    window::note(window_.state().facts(),
                 direction_ == Direction::get ? trace::Operation::read : trace::Operation::write, owner,
                 section.owner_offset * element_bytes_, elements * element_bytes_, elements, trace::Way::patch);
}

void PatchTransfer::copy(int owner, std::byte* segment, const distribution::Section& section) {
    std::byte* const memory = segment + section.owner_offset * element_bytes_;
    std::byte* const buffer = buffer_ + section.buffer_offset * element_bytes_;
    static_assert(distribution::max_section_levels <= datatype::max_copy_levels);
    std::array<datatype::CopyLevel, distribution::max_section_levels> levels;
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < section.levels.size(); ++d) {
        const distribution::SectionLevel& level = section.levels[d];
        elements *= level.count;
        levels[d] = direction_ == Direction::get
                        ? datatype::CopyLevel{level.count, level.buffer_stride, level.owner_stride}
                        : datatype::CopyLevel{level.count, level.owner_stride, level.buffer_stride};
    }
    const std::span<const datatype::CopyLevel> used{levels.data(), section.levels.size()};
    if (direction_ == Direction::get) datatype::strided_copy(buffer, memory, element_bytes_, used);
    else datatype::strided_copy(memory, buffer, element_bytes_, used);
    window::WindowState& window = window_.state();
    window.statistics().add(direction_ == Direction::get ? Counter::direct_get_bytes : Counter::direct_put_bytes,
                            elements * element_bytes_);
    if (direction_ == Direction::put && window.order().copies().concerns(owner)) [[unlikely]]
        window.order().copies().written(owner, at_owner(section, element_bytes_), in_buffer(section, element_bytes_),
                                        buffer_);
}

void PatchTransfer::start(int owner, const distribution::Section& section) {
    if (pending_ == nullptr) pending_ = std::make_unique<PendingTransfers>();
    pending_->make_room();
    const Layout there = at_owner(section, element_bytes_);
    const Layout here = in_buffer(section, element_bytes_);
    if (there.is_contiguous() && here.is_contiguous()) { // nothing to plan
        const auto at = static_cast<std::uint64_t>(there.lower());
        const std::span<std::byte> memory{buffer_ + here.lower(), here.bytes()};
        window::WindowState& window = window_.state();
        pending_->add(direction_ == Direction::get ? window.puts_and_gets().start_get(owner, at, memory)
                                                   : window.puts_and_gets().start_put(owner, at, memory));
        return;
    }
    pending_->add(direction_ == Direction::get ? window_.start_get(Rank{owner}, Offset{0}, there, here, buffer_)
                                               : window_.start_put(here, buffer_, Rank{owner}, Offset{0}, there));
}

void PatchTransfer::wait() {
    if (pending_ == nullptr) return;
    pending_->wait();
}

Completion PatchTransfer::release() {
    if (pending_ == nullptr) return {};
    return Completion{std::move(pending_)};
}

} // namespace lapwing::detail::arrays
