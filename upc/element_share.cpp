#include "upc/element_share.hpp"

#include "upc/data_collectives.hpp"
#include "upc/program.hpp"

#include <algorithm>

namespace lapwing::upc {

ElementShare::ElementShare(ProgramState& program, const char* call, const ElementLayout& layout,
                           std::size_t element_bytes)
    : program_{program}, call_{call}, layout_{layout}, element_bytes_{element_bytes} {
    const auto threads = static_cast<std::uint64_t>(program.threads().threads());
    const auto own = static_cast<std::uint64_t>(program.own_thread());
    // Avoids the product of elements and threads, which may overflow.
    const auto begin_of = [&](std::uint64_t t) {
        return layout.elements() / threads * t + std::min(layout.elements() % threads, t);
    };
    first_ = begin_of(own);
    last_ = begin_of(own + 1);
    begins_.push_back(0);
    for (std::uint64_t t = 0; t < threads; ++t) {
        const auto thread = static_cast<int>(t);
        begins_.push_back(begins_.back() + layout.before(last_, thread) - layout.before(first_, thread));
    }
    data_.resize(count() * element_bytes);
    rewind();
}

void ElementShare::rewind() {
    cursors_.assign(begins_.begin(), begins_.end() - 1);
    at_ = first_;
}

void ElementShare::get() {
    transfer_with_all(program_, [&](int t) {
        const auto thread = static_cast<std::size_t>(t);
        const std::uint64_t elements = begins_[thread + 1] - begins_[thread];
        if (elements == 0) return Completion{};
        const std::uint64_t address = layout_.all(t).address + layout_.before(first_, t) * element_bytes_;
        return program_.transfers().start_get(call_, data_.data() + begins_[thread] * element_bytes_,
                                              {address, static_cast<std::uint32_t>(t), 0}, elements * element_bytes_);
    });
}

void ElementShare::put() {
    transfer_with_all(program_, [&](int t) {
        const auto thread = static_cast<std::size_t>(t);
        const std::uint64_t elements = begins_[thread + 1] - begins_[thread];
        if (elements == 0) return Completion{};
        const std::uint64_t address = layout_.all(t).address + layout_.before(first_, t) * element_bytes_;
        return program_.transfers().start_put(call_, {address, static_cast<std::uint32_t>(t), 0},
                                              data_.data() + begins_[thread] * element_bytes_,
                                              elements * element_bytes_);
    });
}

ElementShare::Piece ElementShare::next(std::uint64_t most) {
    const ElementLayout::Place place = layout_.place(at_);
    const std::uint64_t count = std::min({place.left, most, last_ - at_});
    std::uint64_t& cursor = cursors_[static_cast<std::size_t>(place.thread)];
    const Piece piece{data_.data() + cursor * element_bytes_, count};
    cursor += count;
    at_ += count;
    return piece;
}

} // namespace lapwing::upc
