// Random programs of one-sided operations, and the plain arrays that they are checked against.
//
// Every rank makes the same program from the same seed and carries all of it out on an Image of its own; of that, it
// also carries out its own part on real windows, and compares. A program is a sequence of phases. In a phase every byte
// of every part belongs to one use (a Segment): it is written and read by one actor (a thread of a rank) alone, or only
// read, or changed only in ways whose result does not depend on the order. So the program has no data race, and the
// state after each phase, and every value that is read, is known. Within a phase an actor synchronises with nobody, and
// its operations on the same bytes must still keep their order.
#pragma once

#include <lapwing/window.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

/// Random numbers that are the same on every rank and with every standard library (Steele, Lea and Flood, 2014).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_{seed} {}
    /// A stream of its own for each (a, b, c).
    Random(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) : state_{seed} {
        for (const std::uint64_t part : {a, b, c}) state_ = next() ^ (part * 0xD1B54A32D192ED03U);
    }

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    /// In [0, count).
    std::uint64_t below(std::uint64_t count) { return next() % count; }
    bool chance(unsigned percent) { return below(100) < percent; }
    void fill(std::span<std::byte> bytes) {
        while (!bytes.empty()) {
            const std::uint64_t word = next();
            const std::size_t size = std::min(bytes.size(), sizeof word);
            std::memcpy(bytes.data(), &word, size);
            bytes = bytes.subspan(size);
        }
    }

private:
    std::uint64_t state_;
};

/// The shape of a program. A place is the part of one rank in one window: place = window * ranks + rank.
struct Shape {
    int ranks = 1;
    int threads = 1; ///< of each rank
    int windows = 1;
    std::vector<std::uint64_t> sizes; ///< bytes of each place

    [[nodiscard]] int actors() const { return ranks * threads; }
    [[nodiscard]] int rank_of(int actor) const { return actor / threads; }
    [[nodiscard]] int thread_of(int actor) const { return actor % threads; }
    [[nodiscard]] int places() const { return ranks * windows; }
};

/// The memory of all places, as one process sees it.
class Image {
public:
    explicit Image(const Shape& shape) {
        for (const std::uint64_t size : shape.sizes) parts_.emplace_back(size);
    }

    [[nodiscard]] std::span<std::byte> part(int place) { return parts_[static_cast<std::size_t>(place)]; }
    [[nodiscard]] std::span<std::byte> bytes(int place, std::uint64_t offset, std::uint64_t size) {
        return part(place).subspan(offset, size);
    }
    /// For the changes that several actors make to the same bytes.
    [[nodiscard]] std::mutex& mutex() { return mutex_; }

private:
    std::vector<std::vector<std::byte>> parts_;
    std::mutex mutex_;
};

enum class Use : std::uint8_t {
    owned,     ///< one actor does what it likes
    read_only, ///< everybody may read
    counters,  ///< 8-byte cells to which everybody adds
    locked,    ///< everybody adds to every byte, under a lock, by get and put
    notified,  ///< one actor puts each cut with a notification, which an actor of the owning rank waits for
};

struct Segment {
    int place = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Use use = Use::read_only;
    int actor = 0;                   ///< of owned and notified ones
    std::vector<std::uint64_t> cuts; ///< of notified ones: starts of the pieces, and the end

    [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

/// Sizes around those at which a path changes how it moves bytes: words, cache lines, staging (512), full packets of
/// the sizes that the tests set (56 bytes more than their data), packets, and bulk.
[[nodiscard]] inline std::uint64_t random_size(Random& random) {
    constexpr std::array<std::uint64_t, 4> packets{512, 1024, 8000, 8192};
    switch (random.below(12)) {
    case 0:
    case 1:
    case 2: return 1 + random.below(8);
    case 3: return 9 + random.below(56);
    case 4: return 65 + random.below(400);
    case 5: return 509 + random.below(8);
    case 6: return 250 + random.below(12);
    case 7: return 4090 + random.below(12);
    case 8: return 1000 + random.below(4000);
    case 9:
    case 10: return packets[random.below(packets.size())] - 56 - 8 + random.below(17);
    default: return 8000 + random.below(20000);
    }
}

/// What each byte of every place is used for in one phase.
class Plan {
public:
    Plan(const Shape& shape, Random random) : own_(static_cast<std::size_t>(shape.actors())) {
        std::vector<bool> notified(static_cast<std::size_t>(shape.actors() * shape.places()));
        const auto actors = static_cast<std::uint64_t>(shape.actors());
        for (int place = 0; place < shape.places(); ++place) {
            const std::uint64_t size = shape.sizes[static_cast<std::size_t>(place)];
            for (std::uint64_t at = 0; at < size;) {
                Segment segment{
                    .place = place, .begin = at, .end = std::min(size, at + random_size(random)), .cuts = {}};
                at = segment.end;
                segment.actor = static_cast<int>(random.below(actors));
                const std::uint64_t kind = random.below(100);
                segment.use = kind < 60   ? Use::owned
                              : kind < 78 ? Use::read_only
                              : kind < 84 ? Use::counters
                              : kind < 88 ? Use::locked
                                          : Use::notified;
                if (segment.use == Use::counters) {
                    const std::uint64_t first = (segment.begin + 7) / 8 * 8;
                    const std::uint64_t last = segment.end / 8 * 8;
                    if (first >= last) segment.use = Use::read_only;
                }
                if (segment.use == Use::locked && segment.size() > 600) segment.use = Use::owned;
                if (segment.use == Use::notified) {
                    // One counter for each actor, so one such segment at each place.
                    const auto entry = static_cast<std::size_t>(segment.actor * shape.places() + place);
                    if (notified[entry]) segment.use = Use::owned;
                    else {
                        notified[entry] = true;
                        for (auto pieces = 1 + random.below(4); pieces-- > 1;)
                            segment.cuts.push_back(segment.begin + random.below(segment.size() + 1)); // may be empty
                        segment.cuts.push_back(segment.begin);
                        segment.cuts.push_back(segment.end);
                        std::ranges::sort(segment.cuts);
                    }
                }
                segments_.push_back(std::move(segment));
            }
        }
        for (std::size_t i = 0; i < segments_.size(); ++i) {
            const Segment& segment = segments_[i];
            switch (segment.use) {
            case Use::owned: own_[static_cast<std::size_t>(segment.actor)].push_back(i); break;
            case Use::read_only: read_only_.push_back(i); break;
            case Use::counters: counters_.push_back(i); break;
            case Use::locked: locked_.push_back(i); break;
            case Use::notified: notified_.push_back(i); break;
            }
        }
    }

    [[nodiscard]] const Segment& operator[](std::size_t index) const { return segments_[index]; }
    [[nodiscard]] const std::vector<std::size_t>& own(int actor) const { return own_[static_cast<std::size_t>(actor)]; }
    [[nodiscard]] const std::vector<std::size_t>& read_only() const { return read_only_; }
    [[nodiscard]] const std::vector<std::size_t>& counters() const { return counters_; }
    [[nodiscard]] const std::vector<std::size_t>& locked() const { return locked_; }
    [[nodiscard]] const std::vector<std::size_t>& notified() const { return notified_; }

private:
    std::vector<Segment> segments_;
    std::vector<std::vector<std::size_t>> own_; ///< of each actor
    std::vector<std::size_t> read_only_;
    std::vector<std::size_t> counters_;
    std::vector<std::size_t> locked_;
    std::vector<std::size_t> notified_;
};

/// The value that an atomic leaves behind. Integers wrap.
template <class T>
[[nodiscard]] T after_atomic(lapwing::detail::mpi::AtomicOperation operation, T before, T operand) {
    using Operation = lapwing::detail::mpi::AtomicOperation;
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        switch (operation) {
        case Operation::add: return static_cast<T>(static_cast<U>(before) + static_cast<U>(operand));
        case Operation::bit_and: return static_cast<T>(before & operand);
        case Operation::bit_or: return static_cast<T>(before | operand);
        case Operation::bit_xor: return static_cast<T>(before ^ operand);
        default: break;
        }
    }
    switch (operation) {
    case Operation::add: return before + operand;
    case Operation::min: return operand < before ? operand : before;
    case Operation::max: return before < operand ? operand : before;
    case Operation::replace: return operand;
    default: return before;
    }
}

/// Calls the function of AtomicReference for `operation`, so that tests can loop over operations.
template <class T>
T call_atomic(lapwing::detail::mpi::AtomicOperation operation, lapwing::Window& window, lapwing::Rank target,
              lapwing::Offset offset, T operand, std::memory_order order = std::memory_order_relaxed) {
    using Operation = lapwing::detail::mpi::AtomicOperation;
    const lapwing::AtomicReference<T> value = window.atomic<T>(target, offset);
    if constexpr (std::is_integral_v<T>) {
        switch (operation) {
        case Operation::bit_and: return value.fetch_and(operand, order);
        case Operation::bit_or: return value.fetch_or(operand, order);
        case Operation::bit_xor: return value.fetch_xor(operand, order);
        default: break;
        }
    }
    switch (operation) {
    case Operation::add: return value.fetch_add(operand, order);
    case Operation::min: return value.fetch_min(operand, order);
    case Operation::max: return value.fetch_max(operand, order);
    case Operation::replace: return value.exchange(operand, order);
    default: return value.load(order);
    }
}

template <class T>
[[nodiscard]] bool same_bits(T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

} // namespace test
