#include "src/mpi/window_trial.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;
using Clock = std::chrono::steady_clock;

/// Whether RmaTransport calls MPI_Win_flush_local and MPI_Win_flush_all. With MPICH 4.0.2 over UCX both return too
/// early at times.
#ifdef OPEN_MPI
constexpr bool other_flushes_used = true;
#else
constexpr bool other_flushes_used = false;
#endif

// ---- data -----------------------------------------------------------------------------------------------------------

/// Sizes of puts and gets: odd ones, and above what MPI sends at once.
constexpr std::array<std::size_t, 7> sizes{1, 3, 8, 61, 500, 4097, 70001};
constexpr std::size_t gap = 16; ///< bytes between two of them that nobody may write
constexpr std::byte untouched{0xA5};

constexpr std::size_t area_bytes = [] {
    std::size_t bytes = gap;
    for (const std::size_t size : sizes) bytes += size + gap;
    return (bytes + 63) / 64 * 64;
}();

/// What a rank puts, and what it has to be read.
std::byte pattern(int rank, std::size_t place) {
    return static_cast<std::byte>(((static_cast<std::size_t>(rank) * 31 + place) * 2654435761U) >> 11);
}

template <class Each>
void for_each_piece(Each&& each) {
    std::size_t at = gap;
    for (const std::size_t size : sizes) {
        each(at, size);
        at += size + gap;
    }
}

/// An area in which pieces of `rank` are, and nothing between them.
bool has_pieces_only(std::span<const std::byte> area, int rank) {
    std::size_t end = 0;
    bool right = true;
    const auto is_untouched = [](std::byte one) { return one == untouched; };
    for_each_piece([&](std::size_t at, std::size_t size) {
        right = right && std::ranges::all_of(area.subspan(end, at - end), is_untouched);
        for (std::size_t i = at; i < at + size; ++i) right = right && area[i] == pattern(rank, i);
        end = at + size;
    });
    return right && std::ranges::all_of(area.subspan(end), is_untouched);
}

// ---- atomics --------------------------------------------------------------------------------------------------------

/// A place of an atomic. What lies beside a value of four bytes must stay as it is.
struct alignas(8) Slot {
    std::array<std::byte, 16> bytes;
};
constexpr std::size_t pairs = 4;

/// Values before and operands. Both signs, carries from one half of the value to the other, bits that only one of them
/// has.
template <class T>
constexpr std::array<std::pair<T, T>, pairs> values_of() {
    if constexpr (std::is_floating_point_v<T>)
        return {{{T(1.5), T(-2.25)}, {T(-7), T(-7.5)}, {T(3e30), T(1e29)}, {T(0), T(0.125)}}};
    else if constexpr (sizeof(T) == 8)
        return {{{T(5), T(9)},
                 {T(0x123456789abcdef0), T(0x0fedcba987654321)},
                 {T(~0ULL), T(3)},
                 {T(0), T(0x8877665544332211)}}};
    else return {{{T(5), T(9)}, {T(0x9abcdef0), T(0x07654321)}, {T(~0U), T(3)}, {T(0), T(0x88776655)}}};
}

struct Case {
    AtomicOperation operation = AtomicOperation::read;
    AtomicType type = AtomicType::int64;
    bool swaps = false;      ///< a compare-and-swap with `before` or, where that says so, something else
    bool is_expected = true; ///< of a compare-and-swap: `before` is what it expects
    AtomicValueBytes before{};
    AtomicValueBytes operand{};

    [[nodiscard]] AtomicValueBytes expected() const {
        AtomicValueBytes value = before;
        if (!is_expected) value[size_of(type) - 1] ^= std::byte{0x40};
        return value;
    }
    [[nodiscard]] AtomicValueBytes after() const {
        if (!swaps) return value_after(operation, type, before.data(), operand.data());
        return is_expected ? operand : before;
    }
    [[nodiscard]] std::string name() const {
        static constexpr std::array operations{"MPI_SUM", "MPI_BAND", "MPI_BOR",     "MPI_BXOR",
                                               "MPI_MIN", "MPI_MAX",  "MPI_REPLACE", "MPI_NO_OP"};
        static constexpr std::array types{"int32", "uint32", "int64", "uint64", "float", "double"};
        const char* const of_type = types[static_cast<std::size_t>(type)];
        if (swaps) return fmt::format("MPI_Compare_and_swap of {}", of_type);
        return fmt::format("{} of {}", operations[static_cast<std::size_t>(operation)], of_type);
    }
};

/// Every operation on every type that has it, with all values.
const std::vector<Case>& cases() {
    static const std::vector<Case>& all = *new std::vector<Case>{[] { // never destroyed: teams may be made at exit
        std::vector<Case> list;
        const auto of_type = [&]<class T>(T /*zero*/) {
            constexpr AtomicType type = atomic_type_of<T>();
            for (const auto& [before, operand] : values_of<T>()) {
                Case one{.type = type};
                std::memcpy(one.before.data(), &before, sizeof before);
                std::memcpy(one.operand.data(), &operand, sizeof operand);
                for (unsigned k = 0; k < TrustedAtomics::operation_count; ++k) {
                    one.operation = AtomicOperation{static_cast<std::uint8_t>(k)};
                    const bool of_bits = one.operation == AtomicOperation::bit_and ||
                                         one.operation == AtomicOperation::bit_or ||
                                         one.operation == AtomicOperation::bit_xor;
                    if (!of_bits || std::is_integral_v<T>) list.push_back(one);
                }
                if constexpr (std::is_integral_v<T>) {
                    one.swaps = true;
                    list.push_back(one);
                    one.is_expected = false;
                    list.push_back(one);
                }
            }
        };
        of_type(std::int32_t{});
        of_type(std::uint32_t{});
        of_type(std::int64_t{});
        of_type(std::uint64_t{});
        of_type(float{});
        of_type(double{});
        return list;
    }()};
    return all;
}

constexpr std::size_t case_count = pairs * (4 * (8 + 2) + 2 * 5);

Slot filled(const AtomicValueBytes& value, std::uint64_t bytes) {
    Slot slot;
    slot.bytes.fill(untouched);
    std::copy_n(value.begin(), bytes, slot.bytes.begin());
    return slot;
}

using Slots = std::array<Slot, case_count>;

/// How often ranks add to one value at the same time, by each of the two ways.
constexpr std::int64_t additions = 8;

} // namespace

/// Open MPI 4.1.4 begins the memory of windows 8 bytes after a multiple of 64.
struct alignas(8) WindowTrial::Memory {
    std::int64_t rank = -1;
    std::int64_t outside_mpi = 0; ///< 1 while the rank sleeps outside MPI
    std::int64_t written = 0;     ///< while it sleeps, by the rank before this one
    std::int64_t added = 0;       ///< the same by an atomic
    std::int64_t contended = 0;   ///< by both this rank and the one before it
    std::int64_t after_local_flush = 0;
    std::int64_t after_flush_all_of_previous = 0;
    std::int64_t after_flush_all = 0; ///< of the rank before the previous one
    Slots of_previous;                ///< which works on them
    Slots own;
    Slots accumulated; ///< by this rank itself
    std::array<std::byte, area_bytes> read;
    std::array<std::byte, area_bytes> put;
    std::array<std::byte, area_bytes> put_with_request;
};

// A multiple of 16, see WindowMemory.
const std::size_t WindowTrial::memory_bytes = (sizeof(Memory) + 15) / 16 * 16;

struct WindowTrial::Buffers {
    static constexpr std::size_t many = 64; ///< operations that are timed together
    std::array<std::int64_t, many> words{};
    std::int64_t sent = 0;
    std::int64_t seen_before = 0;
    std::int64_t seen_after = 0;
    std::array<std::int64_t, 3> reused{};
    std::array<AtomicValueBytes, case_count> before_there{};
    std::array<AtomicValueBytes, case_count> before_here{};
    std::array<AtomicValueBytes, case_count> expected{};
    Slots there{};
    std::array<std::byte, area_bytes> source{};
    std::array<std::byte, area_bytes> got{};
    std::array<std::byte, area_bytes> got_with_request{};
};

WindowTrial::WindowTrial(MPI_Comm communicator, const Topology& topology, MPI_Win window, std::byte* memory)
    : communicator_{communicator},
      topology_{topology},
      window_{window},
      memory_{*new(memory) Memory{}},
      buffers_{std::make_unique<Buffers>()} {
    check_mpi(MPI_Comm_rank(communicator, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(communicator, &size_), "MPI_Comm_size");
    next_ = (rank_ + 1) % size_;
    memory_.rank = rank_;
    meet();
}

WindowTrial::~WindowTrial() = default;

template <class Call>
bool WindowTrial::calls(const char* name, Call&& call) {
    call_.store(name, std::memory_order_relaxed);
    const int code = call();
    call_.store("MPI_Barrier", std::memory_order_relaxed);
    if (code == MPI_SUCCESS) return true;
    note(fmt::format("{} failed: {}", name, support::mpi_error_text(code)));
    return false;
}

bool WindowTrial::flush(int target) {
    return calls("MPI_Win_flush", [&] { return MPI_Win_flush(target, window_); });
}

void WindowTrial::note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
}

/// Memory that other ranks have written is loaded after it, and what was stored before it is there for them.
void WindowTrial::meet() const {
    MPI_Win_sync(window_);
    check_mpi(MPI_Barrier(communicator_), "MPI_Barrier", "trial of MPI's windows");
    MPI_Win_sync(window_);
}

std::string WindowTrial::first_problem() const { return mpi::first_problem(communicator_, problem_).text; }

// ---- speed ----------------------------------------------------------------------------------------------------------

/// A batch of one kind of operations, which ends with a flush. False: a call failed, or a get read something else.
bool WindowTrial::runs_batch(Batch batch) {
    auto& words = buffers_->words;
    const bool reads = batch == Batch::gets || batch == Batch::gets_with_requests;
    std::ranges::fill(words, reads ? -1 : rank_);
    std::array<MPI_Request, Buffers::many> requests{};
    bool works = true;
    constexpr int bytes = sizeof words[0];
    for (std::size_t i = 0; i < words.size() && works; ++i) {
        switch (batch) {
        case Batch::gets:
            works = calls("MPI_Get", [&] {
                return MPI_Get(&words[i], bytes, MPI_BYTE, next_, offsetof(Memory, rank), bytes, MPI_BYTE, window_);
            });
            break;
        case Batch::puts:
            works = calls("MPI_Put", [&] {
                return MPI_Put(&words[i], bytes, MPI_BYTE, next_, offsetof(Memory, written), bytes, MPI_BYTE, window_);
            });
            break;
        case Batch::gets_with_requests:
            works = calls("MPI_Rget", [&] {
                return MPI_Rget(&words[i], bytes, MPI_BYTE, next_, offsetof(Memory, rank), bytes, MPI_BYTE, window_,
                                &requests[i]);
            });
            break;
        case Batch::puts_with_requests:
            works = calls("MPI_Rput", [&] {
                return MPI_Rput(&words[i], bytes, MPI_BYTE, next_, offsetof(Memory, written), bytes, MPI_BYTE, window_,
                                &requests[i]);
            });
            break;
        case Batch::other_flushes:
            if (!other_flushes_used) return true;
            return calls("MPI_Win_flush_local", [&] { return MPI_Win_flush_local(next_, window_); }) &&
                   calls("MPI_Win_flush_all", [&] { return MPI_Win_flush_all(window_); });
        }
    }
    if (batch == Batch::gets_with_requests || batch == Batch::puts_with_requests)
        works = works &&
                calls("MPI_Waitall", [&] { return MPI_Waitall(Buffers::many, requests.data(), MPI_STATUSES_IGNORE); });
    works = flush(next_) && works;
    if (!works || !reads || std::ranges::count(words, next_) == std::ssize(words)) return works;
    note(fmt::format("{} of 8 bytes read wrong ones", batch == Batch::gets ? "MPI_Get" : "MPI_Rget"));
    return false;
}

bool WindowTrial::operations_are_fast() {
    constexpr std::chrono::nanoseconds message{
        1200}; // of which a batch leaves room for the one round trip that all of it waits for
    constexpr Clock::duration longest_batch = Buffers::many * message;
    constexpr int rounds = 8;
    constexpr int hopeless = 4; // times as long as it may take, in each of the first rounds
    constexpr int first_rounds = 2;
    constexpr std::chrono::milliseconds longest{10};
    bool fast = true;
    if (topology_.node_index(next_) >= 0) return all_agree(communicator_, fast);
    for (const Batch batch :
         {Batch::gets, Batch::puts, Batch::gets_with_requests, Batch::puts_with_requests, Batch::other_flushes}) {
        Clock::duration best = Clock::duration::max();
        const Clock::time_point end = Clock::now() + longest;
        // The first round connects.
        for (int round = 0; fast && round <= rounds && best > longest_batch && (round == 0 || Clock::now() < end);
             ++round) {
            const Clock::time_point begin = Clock::now();
            fast = runs_batch(batch);
            best = std::min(best, Clock::now() - begin);
            if (round >= first_rounds && best > hopeless * longest_batch) break;
        }
        fast = fast && best <= longest_batch;
        if (!fast) break;
    }
    return all_agree(communicator_, fast);
}

// ---- data -----------------------------------------------------------------------------------------------------------

/// Puts from memory that is written again as soon as a flush of its kind permits.
bool WindowTrial::reuses_sources() {
    Buffers& own = *buffers_;
    const int second = (rank_ + 2) % size_;
    const auto put_word = [&](std::int64_t& word, int target, std::size_t place) {
        word = rank_;
        return calls("MPI_Put", [&] {
            return MPI_Put(&word, sizeof word, MPI_BYTE, target, static_cast<MPI_Aint>(place), sizeof word, MPI_BYTE,
                           window_);
        });
    };
    bool works = put_word(own.reused[0], next_, offsetof(Memory, after_local_flush));
    works = works && calls("MPI_Win_flush_local", [&] { return MPI_Win_flush_local(next_, window_); });
    own.reused[0] = -1; // which the flush permits
    works = works && put_word(own.reused[1], next_, offsetof(Memory, after_flush_all_of_previous)) &&
            put_word(own.reused[2], second, offsetof(Memory, after_flush_all));
    works = works && calls("MPI_Win_flush_all", [&] { return MPI_Win_flush_all(window_); });
    own.reused[1] = own.reused[2] = -1;
    return works;
}

/// Two requests for each piece.
bool WindowTrial::starts_pieces(std::span<MPI_Request> requests) {
    Buffers& own = *buffers_;
    bool works = true;
    std::size_t requested = 0;
    for_each_piece([&](std::size_t at, std::size_t bytes) {
        const int size = static_cast<int>(bytes);
        const auto place = [at](std::size_t area) { return static_cast<MPI_Aint>(area + at); };
        works = works && calls("MPI_Get", [&] {
                    return MPI_Get(&own.got[at], size, MPI_BYTE, next_, place(offsetof(Memory, read)), size, MPI_BYTE,
                                   window_);
                });
        works = works && calls("MPI_Put", [&] {
                    return MPI_Put(&own.source[at], size, MPI_BYTE, next_, place(offsetof(Memory, put)), size, MPI_BYTE,
                                   window_);
                });
        works = works && calls("MPI_Rget", [&] {
                    return MPI_Rget(&own.got_with_request[at], size, MPI_BYTE, next_, place(offsetof(Memory, read)),
                                    size, MPI_BYTE, window_, &requests[requested++]);
                });
        works = works && calls("MPI_Rput", [&] {
                    return MPI_Rput(&own.source[at], size, MPI_BYTE, next_, place(offsetof(Memory, put_with_request)),
                                    size, MPI_BYTE, window_, &requests[requested++]);
                });
    });
    return works;
}

bool WindowTrial::moves_data() {
    Buffers& own = *buffers_;
    own.source.fill(untouched);
    own.got.fill(untouched);
    own.got_with_request.fill(untouched);
    memory_.read.fill(untouched);
    memory_.put.fill(untouched);
    memory_.put_with_request.fill(untouched);
    for_each_piece([&](std::size_t at, std::size_t size) {
        for (std::size_t i = at; i < at + size; ++i) own.source[i] = memory_.read[i] = pattern(rank_, i);
    });
    meet();

    bool works = !other_flushes_used || reuses_sources();
    std::array<MPI_Request, 2 * sizes.size()> requests{};
    works = works && starts_pieces(requests);
    if (works)
        works = calls("MPI_Waitall", [&] {
            return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        });
    const auto check = [&](bool right, const char* problem) {
        if (right) return;
        if (works) note(problem);
        works = false;
    };
    check(!works || has_pieces_only(own.got_with_request, next_), "MPI_Rget read wrong bytes");
    works = flush(next_) && works;
    check(!works || has_pieces_only(own.got, next_), "MPI_Get read wrong bytes");
    meet();
    const int previous = (rank_ + size_ - 1) % size_;
    const int one_before = (rank_ + 2 * size_ - 2) % size_;
    // Of a rank whose calls have failed others see nothing; it has said so itself.
    const bool all_called = all_agree(communicator_, works);
    if (all_called) {
        check(has_pieces_only(memory_.put, previous), "MPI_Put wrote wrong bytes");
        check(has_pieces_only(memory_.put_with_request, previous), "MPI_Rput wrote wrong bytes");
        check(!other_flushes_used || memory_.after_local_flush == previous,
              "MPI_Win_flush_local returned before the source could be used again");
        check(!other_flushes_used ||
                  (memory_.after_flush_all_of_previous == previous && memory_.after_flush_all == one_before),
              "MPI_Win_flush_all returned before the operations were complete");
    }
    return all_agree(communicator_, works);
}

// ---- atomics --------------------------------------------------------------------------------------------------------

/// One rank's part in the trial of atomics.
class WindowTrial::Atomics {
public:
    Atomics(WindowTrial& trial, bool swaps) : trial_{trial}, swaps_{swaps} {}

    [[nodiscard]] TrustedAtomics run() {
        fill();
        trial_.meet();
        for (std::size_t i = 0; i < case_count; ++i) try_case(i);
        (void)trial_.flush(trial_.next_);
        (void)trial_.flush(trial_.rank_);
        look_there();
        for (std::size_t i = 0; i < case_count; ++i) check_results(i);
        trial_.meet();
        for (std::size_t i = 0; i < case_count; ++i) check_memory(i);
        contend();
        std::uint64_t bits = trusted_.bits();
        check_mpi(MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BAND, trial_.communicator_), "MPI_Allreduce");
        return TrustedAtomics::from_bits(bits);
    }

private:
    /// Longer than the slowest network's own take by far, which they all share.
    static constexpr std::chrono::milliseconds longest{30};
    static constexpr std::chrono::microseconds slow{200};

    void fill() {
        for (std::size_t i = 0; i < case_count; ++i) {
            const Case& one = cases()[i];
            const Slot slot = filled(one.before, size_of(one.type));
            trial_.memory_.of_previous[i] = trial_.memory_.own[i] = trial_.memory_.accumulated[i] = slot;
            trial_.buffers_->expected[i] = one.expected();
        }
    }

    void distrust(const Case& one, const char* why) {
        if (one.swaps ? trusted_.swaps(one.type) : trusted_.fetches(one.operation, one.type))
            trial_.note(fmt::format("{} {}", one.name(), why));
        if (one.swaps) trusted_.distrust_swaps(one.type);
        else trusted_.distrust_fetch(one.operation, one.type);
    }

    [[nodiscard]] static MPI_Aint place(std::size_t slots, std::size_t i) {
        return static_cast<MPI_Aint>(slots + i * sizeof(Slot));
    }

    bool start(std::size_t i, int target, std::size_t slots, AtomicValueBytes& before) {
        const Case& one = cases()[i];
        const MPI_Aint at = place(slots, i);
        if (one.swaps)
            return trial_.calls("MPI_Compare_and_swap", [&] {
                return MPI_Compare_and_swap(one.operand.data(), trial_.buffers_->expected[i].data(), before.data(),
                                            mpi_type(one.type), target, at, trial_.window_);
            });
        return trial_.calls("MPI_Fetch_and_op", [&] {
            return MPI_Fetch_and_op(one.operand.data(), before.data(), mpi_type(one.type), target, at,
                                    mpi_operation(one.operation), trial_.window_);
        });
    }

    void try_case(std::size_t i) {
        const Case& one = cases()[i];
        if (one.swaps && !swaps_) return distrust(one, "is not used");
        const Clock::time_point begin = Clock::now();
        // What cannot be judged in time is not trusted.
        if (begin - begin_ > longest) return distrust(one, "was not tried: the operations before it took too long");
        started_[i] = start(i, trial_.next_, offsetof(Memory, of_previous), trial_.buffers_->before_there[i]) &&
                      start(i, trial_.rank_, offsetof(Memory, own), trial_.buffers_->before_here[i]);
        if (started_[i] && accumulates(one))
            started_[i] = trial_.calls("MPI_Accumulate", [&] {
                return MPI_Accumulate(one.operand.data(), 1, mpi_type(one.type), trial_.rank_,
                                      place(offsetof(Memory, accumulated), i), 1, mpi_type(one.type),
                                      mpi_operation(one.operation), trial_.window_);
            });
        if (!started_[i]) return distrust(one, "failed");
        // By the fastest of its values: a process may lose its processor at any of them.
        Clock::duration& fastest = fastest_[kind(one)];
        fastest = std::min(fastest, Clock::now() - begin);
    }

    /// What the operations have left at the next rank.
    void look_there() {
        Slots& there = trial_.buffers_->there;
        (void)trial_.calls("MPI_Get", [&] {
            return MPI_Get(there.data(), sizeof there, MPI_BYTE, trial_.next_, offsetof(Memory, of_previous),
                           sizeof there, MPI_BYTE, trial_.window_);
        });
        (void)trial_.flush(trial_.next_);
    }

    void check_results(std::size_t i) {
        const Case& one = cases()[i];
        if (!started_[i]) return;
        const auto is_before = [&](const AtomicValueBytes& value) {
            return std::equal(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(size_of(one.type)),
                              one.before.begin());
        };
        if (!is_before(trial_.buffers_->before_there[i]) || !is_before(trial_.buffers_->before_here[i]))
            distrust(one, "gave a wrong result");
        if (trial_.buffers_->there[i].bytes != after(one).bytes) distrust(one, "left a wrong value");
        if (fastest_[kind(one)] > slow) distrust(one, "took longer than 0.2 ms");
    }

    void check_memory(std::size_t i) {
        const Case& one = cases()[i];
        const Memory& memory = trial_.memory_;
        const auto is = [](const Slot& slot, const Slot& what) { return slot.bytes == what.bytes; };
        // The rank before this one may not have come to it, and knows; what it has seen is what the processor sees
        // here.
        const bool right =
            is(memory.of_previous[i], after(one)) || is(memory.of_previous[i], filled(one.before, size_of(one.type)));
        const bool right_here = !started_[i] || (is(memory.own[i], after(one)) &&
                                                 (!accumulates(one) || is(memory.accumulated[i], after(one))));
        if (!right || !right_here) distrust(one, "left a wrong value");
    }
    /// MPI_NO_OP is none of MPI_Accumulate's operations.
    [[nodiscard]] static bool accumulates(const Case& one) {
        return !one.swaps && one.operation != AtomicOperation::read;
    }
    [[nodiscard]] static Slot after(const Case& one) { return filled(one.after(), size_of(one.type)); }

    /// Which rows of times belong together.
    [[nodiscard]] static std::size_t kind(const Case& one) {
        return static_cast<std::size_t>(one.type) * (TrustedAtomics::operation_count + 1) +
               (one.swaps ? TrustedAtomics::operation_count : static_cast<std::size_t>(one.operation));
    }

    /// Two ranks add to one value, by MPI_SUM and by compare-and-swap: neither may lose what the other adds.
    void contend();

    WindowTrial& trial_;
    bool swaps_;
    TrustedAtomics trusted_ = TrustedAtomics::all();
    Clock::time_point begin_ = Clock::now();
    std::array<bool, case_count> started_{};
    std::array<Clock::duration, TrustedAtomics::type_count*(TrustedAtomics::operation_count + 1)> fastest_ = [] {
        decltype(fastest_) none;
        none.fill(Clock::duration::max());
        return none;
    }();
};

void WindowTrial::Atomics::contend() {
    const bool adds = trusted_.fetches(AtomicOperation::add, AtomicType::int64);
    if (!all_agree(trial_.communicator_, adds && trusted_.swaps(AtomicType::int64))) return;
    constexpr MPI_Aint place = offsetof(Memory, contended);
    constexpr std::int64_t one = 1;
    std::int64_t before = 0;
    bool works = true;
    const auto add = [&](int target) {
        works = works && trial_.calls("MPI_Fetch_and_op", [&] {
            return MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, place, MPI_SUM, trial_.window_);
        });
        works = works && trial_.flush(target);
    };
    const auto swap = [&](int target) {
        std::int64_t expected = 0;
        std::int64_t desired = 1;
        while (works) {
            works = trial_.calls("MPI_Compare_and_swap", [&] {
                return MPI_Compare_and_swap(&desired, &expected, &before, MPI_INT64_T, target, place, trial_.window_);
            });
            works = works && trial_.flush(target);
            if (before == expected) return;
            expected = std::exchange(before, 0);
            desired = expected + 1;
        }
    };
    for (std::int64_t i = 0; i < additions; ++i) {
        add(trial_.next_);
        swap(trial_.rank_);
        swap(trial_.next_);
        add(trial_.rank_);
    }
    trial_.meet();
    if (works && trial_.memory_.contended == 4 * additions) return;
    trial_.note("MPI_Fetch_and_op and MPI_Compare_and_swap lost each other's writes");
    trusted_ = {};
}

TrustedAtomics WindowTrial::try_atomics(bool swaps) { return Atomics{*this, swaps}.run(); }

// ---- the target outside MPI -----------------------------------------------------------------------------------------

bool WindowTrial::completes_without_target(SleepOutsideMpi sleep_outside_mpi, TrustedAtomics& atomics) {
    constexpr int rounds = 3;
    constexpr std::chrono::microseconds asleep{2000};
    constexpr std::chrono::microseconds between_attempts{50};
    Buffers& own = *buffers_;
    // The last rank's neighbour is the first, which may have a part of its own at the same time.
    bool proved = next_ != rank_ + 1 || topology_.node_index(next_) >= 0;
    bool works = true;
    const bool adds = atomics.fetches(AtomicOperation::add, AtomicType::int64);
    bool adds_right = true;
    std::int64_t added = 0;
    constexpr int bytes = sizeof(std::int64_t);
    constexpr std::int64_t one = 1;
    const auto look = [&](std::int64_t& seen) {
        works =
            works && calls("MPI_Get", [&] {
                return MPI_Get(&seen, bytes, MPI_BYTE, next_, offsetof(Memory, outside_mpi), bytes, MPI_BYTE, window_);
            });
        works = works && flush(next_);
    };
    const auto attempt = [&] {
        look(own.seen_before);
        own.sent = rank_;
        works =
            works && calls("MPI_Put", [&] {
                return MPI_Put(&own.sent, bytes, MPI_BYTE, next_, offsetof(Memory, written), bytes, MPI_BYTE, window_);
            });
        works = works && flush(next_);
        if (works && adds) {
            works = calls("MPI_Fetch_and_op", [&] {
                return MPI_Fetch_and_op(&one, &own.words[0], MPI_INT64_T, next_, offsetof(Memory, added), MPI_SUM,
                                        window_);
            });
            works = works && flush(next_);
            adds_right = adds_right && works && own.words[0] == added++;
        }
        look(own.seen_after);
        return works && own.seen_before == 1 && own.seen_after == 1;
    };
    bool all_proved = false;
    for (int round = 0; round < rounds && !all_proved; ++round) {
        for (const int parity : {0, 1}) {
            meet();
            if (rank_ % 2 != parity) {
                sleep_outside_mpi(asleep, &memory_.outside_mpi);
                continue;
            }
            const Clock::time_point end = Clock::now() + asleep;
            while (works && !proved && Clock::now() < end) {
                sleep_outside_mpi(between_attempts, nullptr); // the target is on its way out of the barrier
                proved = attempt();
            }
        }
        all_proved = all_agree(communicator_, proved);
    }
    if (!adds_right) note("MPI_SUM of int64 gave a wrong result while the target was outside MPI");
    if (!all_agree(communicator_, adds_right)) atomics = {};
    return all_proved;
}

} // namespace lapwing::detail::mpi
