#pragma once

#include <mpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lapwing::bench::irregular {

/// A vector that keeps its memory and what is in it, so that a smaller exchange costs nothing but its items.
template <class T>
class Buffer {
public:
    [[nodiscard]] std::span<T> first(std::size_t count) {
        if (count > items_.size()) items_.resize(count);
        return std::span{items_}.first(count);
    }

private:
    std::vector<T> items_;
};

/// What ranks have for each other, exchanged by all of them at once: counted, placed by rank, MPI_Alltoallv. Answers go
/// the same way back. Items and answers are words of 4 or 8 bytes.
template <class Item, class Answer = Item>
class Exchange {
public:
    explicit Exchange(MPI_Comm world) : world_{world} {
        int size = 0;
        MPI_Comm_size(world, &size);
        for (auto* numbers : {&send_counts_, &send_places_, &receive_counts_, &receive_places_, &next_})
            numbers->resize(static_cast<std::size_t>(size));
    }

    /// Collective. `each(to)` calls `to(rank, item)` for every item that this rank sends. It runs twice, to count and
    /// to place, and must do the same. Returns what was sent to this rank; valid until the next exchange.
    template <class Each>
    [[nodiscard]] std::span<const Item> operator()(const Each& each) {
        std::ranges::fill(send_counts_, 0);
        each([this](std::size_t rank, Item) { ++send_counts_[rank]; });
        const std::span<Item> outgoing = outgoing_.first(place(send_counts_, send_places_));
        next_ = send_places_;
        each([&](std::size_t rank, Item item) { outgoing[static_cast<std::size_t>(next_[rank]++)] = item; });
        MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, world_);
        const std::span<Item> incoming = incoming_.first(place(receive_counts_, receive_places_));
        MPI_Alltoallv(outgoing.data(), send_counts_.data(), send_places_.data(), type<Item>(), incoming.data(),
                      receive_counts_.data(), receive_places_.data(), type<Item>(), world_);
        return incoming;
    }

    /// Collective, after an exchange. `answer(item)` makes the answer to an item that arrived. Then `each(next)` runs
    /// as in the exchange: `next(rank)` is the answer to the item that was sent to `rank` at this point.
    template <class Reply, class Each>
    void answer(std::span<const Item> arrived, const Reply& reply, const Each& each) {
        const std::span<Answer> answers = answers_.first(arrived.size());
        std::ranges::transform(arrived, answers.begin(), reply);
        const auto sent = static_cast<std::size_t>(send_places_.back() + send_counts_.back());
        const std::span<Answer> returned = returned_.first(sent);
        MPI_Alltoallv(answers.data(), receive_counts_.data(), receive_places_.data(), type<Answer>(), returned.data(),
                      send_counts_.data(), send_places_.data(), type<Answer>(), world_);
        next_ = send_places_;
        each([&](std::size_t rank) { return returned[static_cast<std::size_t>(next_[rank]++)]; });
    }

private:
    template <class Word>
    [[nodiscard]] static MPI_Datatype type() {
        static_assert(sizeof(Word) == 4 || sizeof(Word) == 8);
        return sizeof(Word) == 4 ? MPI_UINT32_T : MPI_UINT64_T;
    }
    /// Returns the sum of the counts.
    static std::size_t place(const std::vector<int>& counts, std::vector<int>& places) {
        std::int64_t total = 0;
        for (std::size_t rank = 0; rank < counts.size(); ++rank) {
            places[rank] = static_cast<int>(total);
            total += counts[rank];
            if (total > std::numeric_limits<int>::max())
                throw std::length_error{fmt::format("exchange: more than {} items to or from one rank, which "
                                                    "MPI_Alltoallv cannot count; make the input smaller",
                                                    std::numeric_limits<int>::max())};
        }
        return static_cast<std::size_t>(total);
    }

    MPI_Comm world_;
    std::vector<int> send_counts_;
    std::vector<int> send_places_;
    std::vector<int> receive_counts_;
    std::vector<int> receive_places_;
    std::vector<int> next_;
    Buffer<Item> outgoing_;
    Buffer<Item> incoming_;
    Buffer<Answer> answers_;
    Buffer<Answer> returned_;
};

} // namespace lapwing::bench::irregular
