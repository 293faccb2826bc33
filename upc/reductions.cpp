// UPC's reductions: each thread combines its own elements in place, then one value per thread is combined, or one per
// round in which the blocks go to all threads.
#include "upc/data_collectives.hpp"
#include "upc/element_layout.hpp"
#include "upc/element_share.hpp"
#include "upc/guarded.hpp"
#include "upc/program.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>
#include <lapwing/upc/collective.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace lapwing::upc {

namespace {

/// A sequence of optional values: for each a word that says whether it is there, and the value,
/// aligned to 16 bytes.
class Slots {
public:
    Slots(const detail::Reduction& reduction, std::size_t count)
        : reduction_{&reduction}, stride_{(16 + reduction.element_bytes + 15) / 16 * 16}, bytes_(stride_ * count) {}

    [[nodiscard]] std::span<std::byte> bytes() noexcept { return bytes_; }
    [[nodiscard]] bool has(std::size_t k) const noexcept { return bytes_[k * stride_] != std::byte{0}; }
    [[nodiscard]] std::byte* value(std::size_t k) noexcept { return bytes_.data() + k * stride_ + 16; }
    void set(std::size_t k, const void* value) noexcept {
        bytes_[k * stride_] = std::byte{1};
        std::memcpy(this->value(k), value, reduction_->element_bytes);
    }
    /// Combines slot k with a value that follows it.
    void append(std::size_t k, const void* value) {
        if (has(k)) reduction_->combine(reduction_->context, this->value(k), value);
        else set(k, value);
    }
    void append(std::size_t k, Slots& other, std::size_t from) {
        if (other.has(from)) append(k, other.value(from));
    }
    /// As Team::combine requires, for all slots: context is any Slots of this shape.
    static void combine_all(void* context, void* left, const void* right) {
        const Slots& shape = *static_cast<const Slots*>(context);
        for (std::size_t at = 0; at < shape.bytes_.size(); at += shape.stride_) {
            auto* const to = static_cast<std::byte*>(left) + at;
            const auto* const from = static_cast<const std::byte*>(right) + at;
            if (*from == std::byte{0}) continue;
            if (*to == std::byte{0}) std::memcpy(to, from, shape.stride_);
            else shape.reduction_->combine(shape.reduction_->context, to + 16, from + 16);
        }
    }

private:
    const detail::Reduction* reduction_;
    std::size_t stride_;
    std::vector<std::byte> bytes_; // the allocator aligns it to 16
};

/// The number of rounds whose values travel in one message, at most about 1 MiB.
[[nodiscard]] std::uint64_t rounds_at_a_time(const detail::Reduction& reduction) noexcept {
    return std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / (reduction.element_bytes + 32));
}

/// Combines a value with the elements of a run.
void append_run(Slots& slots, std::size_t k, const detail::Reduction& reduction, const std::byte* elements,
                std::uint64_t count) {
    if (count == 0) return;
    slots.append(k, elements);
    if (count > 1) reduction.fold(reduction.context, slots.value(k), elements + reduction.element_bytes, count - 1);
}

/// Throws UsageError for an unknown reduction.
void require_operation(ProgramState& program, const char* call, const detail::Reduction& reduction) {
    if (reduction.combine != nullptr) return;
    if (reduction.operation == LAPWING_UPC_FUNC || reduction.operation == LAPWING_UPC_NONCOMM_FUNC)
        throw UsageError{fmt::format("{}: FUNC without a function; pass one", program.who(call))};
    throw UsageError{
        fmt::format("{}: operation {:#x} of {}; name ADD, MULT, MIN, MAX, LOGAND, LOGOR{}", program.who(call),
                    reduction.operation, reduction.floating_point ? "floating point" : "integers",
                    reduction.floating_point ? ", or FUNC with a function; AND, OR and XOR are for integers"
                                             : ", AND, OR, XOR, or FUNC with a function")};
}

/// Throws RangeError, on all threads alike, unless all elements are in their threads' parts.
void require_elements(ProgramState& program, const char* call, const lapwing_upc_pointer& object,
                      const detail::Reduction& reduction, std::size_t nelems, std::size_t blk_size) {
    const std::size_t bytes = reduction.element_bytes;
    const int threads = program.threads().threads();
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    if (nelems > most / bytes)
        throw RangeError{fmt::format("{}: {} elements of {} bytes are more than 2^63 bytes; ask for less",
                                     program.who(call), nelems, bytes)};
    if (blk_size > most / bytes / static_cast<std::size_t>(threads))
        throw RangeError{fmt::format(
            "{}: blocks of {} elements of {} bytes are more than 2^63 bytes; a block size of 0 is an indefinite one",
            program.who(call), blk_size, bytes)};
    if (blk_size == 0) return program.require_within(call, object, nelems * bytes);
    if (object.phase >= blk_size)
        throw RangeError{
            fmt::format("{}: a pointer of phase {} to elements in blocks of {}; cast it to that block size",
                        program.who(call), object.phase, blk_size)};
    if (object.phase * bytes > object.address)
        throw RangeError{fmt::format(
            "{}: a pointer to {}, whose block would begin before the thread's part; has it been initialised?",
            program.who(call), text(object))};
    // The lowest begin is at the first element's thread or its right neighbour, and the highest end at the last
    // element's or its left one.
    const ElementLayout layout{object, bytes, blk_size, nelems, threads};
    const auto blocks_behind = static_cast<std::int64_t>((object.phase + nelems - 1) / blk_size);
    const auto first = static_cast<int>(object.thread);
    const auto last = static_cast<int>((object.thread + blocks_behind) % threads);
    for (const int thread : {first, (first + 1) % threads, last, (last + threads - 1) % threads}) {
        const Run run = layout.all(thread);
        if (run.count > 0)
            program.require_within(call, {run.address, static_cast<std::uint32_t>(thread), 0}, run.count * bytes);
    }
}

/// Writes results to elements of an object, wherever they are.
void write_elements(ProgramState& program, const char* call, const lapwing_upc_pointer& object,
                    std::uint64_t element_bytes, std::uint64_t block, std::uint64_t first, std::uint64_t count,
                    const std::byte* results) {
    while (count > 0) {
        const lapwing_upc_pointer at =
            program.threads().add(object, element_bytes, block, static_cast<std::int64_t>(first));
        const std::uint64_t now = block == 0 ? count : std::min(count, block - at.phase);
        program.memory().put(call, at, results, now * element_bytes);
        first += now;
        count -= now;
        results += now * element_bytes;
    }
}

/// Whether the order of the elements is better kept by moving them, an equal share to each thread, than by one value
/// per round in which the blocks go to all threads: if a round's elements are not many more bytes than such a value,
/// which moves several times.
[[nodiscard]] bool moves_shares(const ElementLayout& layout, const detail::Reduction& reduction) noexcept {
    return layout.rounds() >= 64 && layout.block() * reduction.element_bytes <= 256;
}

/// Combines a value with the elements of the share.
void append_share(Slots& slots, const detail::Reduction& reduction, ElementShare& share) {
    for (std::uint64_t left = share.count(); left > 0;) {
        const ElementShare::Piece piece = share.next(left);
        append_run(slots, 0, reduction, piece.data, piece.count);
        left -= piece.count;
    }
    share.rewind();
}

/// Prefixes of consecutive shares: what precedes a thread's share is one value.
void prefix_reduce_shares(ProgramState& program, const char* call, const ElementLayout& source,
                          const ElementLayout& target, const detail::Reduction& reduction) {
    ElementShare from{program, call, source, reduction.element_bytes};
    ElementShare to{program, call, target, reduction.element_bytes};
    from.get();
    Slots own{reduction, 1};
    append_share(own, reduction, from);
    Slots sum{reduction, 1};
    static_cast<void>(program.team().combine_before(own.bytes(), sum.bytes(), Slots::combine_all, &own));
    for (std::uint64_t left = from.count(); left > 0;) {
        // As many as are contiguous in both.
        const ElementShare::Piece elements = from.next(left);
        for (std::uint64_t done = 0; done < elements.count;) {
            const ElementShare::Piece results = to.next(elements.count - done);
            const std::byte* const at = elements.data + done * reduction.element_bytes;
            sum.append(0, at);
            std::memcpy(results.data, sum.value(0), reduction.element_bytes);
            if (results.count > 1)
                reduction.scan(reduction.context, sum.value(0), at + reduction.element_bytes,
                               results.data + reduction.element_bytes, results.count - 1);
            done += results.count;
        }
        left -= elements.count;
    }
    program.team().barrier(); // all have read: the elements may be overwritten if both are one object
    to.put();
}

/// The pointer as collectives interpret it, by pointer arithmetic: in blocks of one element, or without blocks,
/// there is no phase.
[[nodiscard]] lapwing_upc_pointer in_blocks(const lapwing_upc_pointer& pointer, std::size_t blk_size) noexcept {
    return {pointer.address, pointer.thread, blk_size <= 1 ? 0 : pointer.phase};
}

void reduce(ProgramState& program, const char* call, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& first,
            std::size_t nelems, std::size_t blk_size, const detail::Reduction& reduction, int flags) {
    const lapwing_upc_pointer src = in_blocks(first, blk_size);
    const ElementLayout layout{src, reduction.element_bytes, blk_size, nelems, program.threads().threads()};
    const bool shares = nelems > 0 && !reduction.commutative() && moves_shares(layout, reduction);
    CollectiveCall entered{
        program,    call,
        flags,      shares ? Touches::others : Touches::own,
        {dst, src}, {nelems, blk_size, reduction.element_bytes, static_cast<std::size_t>(reduction.operation)}};
    require_operation(program, call, reduction);
    program.require_within(call, dst, reduction.element_bytes);
    if (nelems == 0) return entered.finish();
    require_elements(program, call, src, reduction, nelems, blk_size);
    const std::byte* const own = program.heap().local().data();
    Slots result{reduction, 1};
    if (reduction.commutative()) {
        const Run run = layout.all(program.own_thread());
        append_run(result, 0, reduction, own + run.address, run.count);
        program.team().combine(result.bytes(), Slots::combine_all, &result);
    } else if (shares) {
        ElementShare share{program, call, layout, reduction.element_bytes};
        share.get();
        append_share(result, reduction, share);
        program.team().combine(result.bytes(), Slots::combine_all, &result);
    } else {
        for (std::uint64_t begin = 0, rounds = layout.rounds(); begin < rounds;) {
            const std::uint64_t end = std::min(rounds, begin + rounds_at_a_time(reduction));
            Slots values{reduction, static_cast<std::size_t>(end - begin)};
            for (std::uint64_t round = begin; round < end; ++round) {
                const Run run = layout.run(round, program.own_thread());
                append_run(values, static_cast<std::size_t>(round - begin), reduction, own + run.address, run.count);
            }
            program.team().combine(values.bytes(), Slots::combine_all, &values);
            for (std::size_t k = 0; k < end - begin; ++k) result.append(0, values, k);
            begin = end;
        }
    }
    if (static_cast<int>(dst.thread) == program.own_thread())
        std::memcpy(program.heap().local().data() + dst.address, result.value(0), reduction.element_bytes);
    entered.finish();
}

void prefix_reduce(ProgramState& program, const char* call, const lapwing_upc_pointer& first_result,
                   const lapwing_upc_pointer& first, std::size_t nelems, std::size_t blk_size,
                   const detail::Reduction& reduction, int flags) {
    const lapwing_upc_pointer dst = in_blocks(first_result, blk_size);
    const lapwing_upc_pointer src = in_blocks(first, blk_size);
    const bool aligned = dst.thread == src.thread && dst.phase == src.phase;
    const std::uint64_t bytes = reduction.element_bytes;
    const int threads = program.threads().threads();
    const ElementLayout layout{src, bytes, blk_size, nelems, threads};
    const bool shares = nelems > 0 && moves_shares(layout, reduction);
    CollectiveCall entered{program,    call,
                           flags,      aligned && !shares ? Touches::own : Touches::others,
                           {dst, src}, {nelems, blk_size, bytes, static_cast<std::size_t>(reduction.operation)}};
    require_operation(program, call, reduction);
    if (nelems == 0) return entered.finish();
    require_elements(program, call, src, reduction, nelems, blk_size);
    require_elements(program, call, dst, reduction, nelems, blk_size);
    if (shares) {
        prefix_reduce_shares(program, call, layout, {dst, bytes, blk_size, nelems, threads}, reduction);
        return entered.finish();
    }
    std::byte* const own = program.heap().local().data();
    std::vector<std::byte> results; // of a run that does not stay here
    Slots carried{reduction, 1};    // of all previous rounds
    Slots sum{reduction, 1};
    for (std::uint64_t begin = 0, rounds = layout.rounds(); begin < rounds;) {
        const std::uint64_t end = std::min(rounds, begin + rounds_at_a_time(reduction));
        const auto count = static_cast<std::size_t>(end - begin);
        Slots values{reduction, count};
        for (std::size_t k = 0; k < count; ++k) {
            const Run run = layout.run(begin + k, program.own_thread());
            append_run(values, k, reduction, own + run.address, run.count);
        }
        Slots before{reduction, count};
        // Thread 0 has no predecessor, and its values stay missing.
        static_cast<void>(program.team().combine_before(values.bytes(), before.bytes(), Slots::combine_all, &values));
        // The last thread knows the rounds' results.
        Slots whole = before;
        Slots::combine_all(&values, whole.bytes().data(), values.bytes().data());
        program.team().broadcast(whole.bytes(), Rank{threads - 1});
        for (std::size_t k = 0; k < count; ++k) {
            const Run run = layout.run(begin + k, program.own_thread());
            if (run.count > 0) {
                sum = carried; // same size: no memory is allocated
                sum.append(0, before, k);
                if (!aligned) results.resize(run.count * bytes);
                std::byte* const to = aligned ? own + run.address - src.address + dst.address : results.data();
                const std::byte* const elements = own + run.address;
                sum.append(0, elements);
                std::memcpy(to, sum.value(0), bytes);
                if (run.count > 1)
                    reduction.scan(reduction.context, sum.value(0), elements + bytes, to + bytes, run.count - 1);
                if (!aligned) write_elements(program, call, dst, bytes, blk_size, run.first, run.count, to);
            }
            carried.append(0, whole, k);
        }
        begin = end;
    }
    entered.finish();
}

} // namespace

namespace detail {

void all_reduce(const char* call, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src, std::size_t nelems,
                std::size_t blk_size, const Reduction& reduction, int flags) {
    call_site = __builtin_return_address(0);
    guarded([&] { reduce(program(call), call, dst, src, nelems, blk_size, reduction, flags); });
}

void all_prefix_reduce(const char* call, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src,
                       std::size_t nelems, std::size_t blk_size, const Reduction& reduction, int flags) {
    call_site = __builtin_return_address(0);
    guarded([&] { prefix_reduce(program(call), call, dst, src, nelems, blk_size, reduction, flags); });
}

void allv_reduce(void* value, const Reduction& reduction) {
    guarded([&] {
        ProgramState& here = program("allv_reduce");
        require_operation(here, "allv_reduce", reduction);
        here.team().combine(std::span{static_cast<std::byte*>(value), reduction.element_bytes}, reduction.combine,
                            reduction.context);
    });
}

void allv_broadcast(void* value, std::size_t bytes, int thread) {
    guarded([&] {
        ProgramState& here = program("allv_broadcast");
        if (thread < 0 || thread >= here.threads().threads())
            throw RangeError{fmt::format("{}: from thread {}, but threads are numbered from 0 to {}",
                                         here.who("allv_broadcast"), thread, here.threads().threads() - 1)};
        here.team().broadcast(std::span{static_cast<std::byte*>(value), bytes}, Rank{thread});
    });
}

} // namespace detail

namespace {

/// A call from C: an operation, or a function.
template <class T>
void from_c(decltype(reduce)& collective, const char* call, const lapwing_upc_pointer& dst,
            const lapwing_upc_pointer& src, lapwing_upc_op op, std::size_t nelems, std::size_t blk_size,
            T (*func)(T, T), int flags) {
    const auto step = [&](const detail::Reduction& reduction) {
        guarded([&] { collective(program(call), call, dst, src, nelems, blk_size, reduction, flags); });
    };
    if (op != LAPWING_UPC_FUNC && op != LAPWING_UPC_NONCOMM_FUNC) detail::with_operation<T>(op, step);
    else step(func == nullptr ? detail::no_reduction<T>(op) : detail::reduction_by<T>(func, op));
}

} // namespace
} // namespace lapwing::upc

extern "C" {

#define LAPWING_UPC_REDUCTIONS(suffix, type)                                                                           \
    void lapwing_upc_all_reduce##suffix(lapwing_upc_pointer dst, lapwing_upc_pointer src, lapwing_upc_op op,           \
                                        size_t nelems, size_t blk_size, type (*func)(type, type), int flags) {         \
        lapwing::upc::call_site = __builtin_return_address(0);                                                         \
        lapwing::upc::from_c<type>(lapwing::upc::reduce, "upc_all_reduce" #suffix, dst, src, op, nelems, blk_size,     \
                                   func, flags);                                                                       \
    }                                                                                                                  \
    void lapwing_upc_all_prefix_reduce##suffix(lapwing_upc_pointer dst, lapwing_upc_pointer src, lapwing_upc_op op,    \
                                               size_t nelems, size_t blk_size, type (*func)(type, type), int flags) {  \
        lapwing::upc::call_site = __builtin_return_address(0);                                                         \
        lapwing::upc::from_c<type>(lapwing::upc::prefix_reduce, "upc_all_prefix_reduce" #suffix, dst, src, op, nelems, \
                                   blk_size, func, flags);                                                             \
    }
LAPWING_UPC_REDUCTIONS(C, signed char)
LAPWING_UPC_REDUCTIONS(UC, unsigned char)
LAPWING_UPC_REDUCTIONS(S, short)
LAPWING_UPC_REDUCTIONS(US, unsigned short)
LAPWING_UPC_REDUCTIONS(I, int)
LAPWING_UPC_REDUCTIONS(UI, unsigned int)
LAPWING_UPC_REDUCTIONS(L, long)
LAPWING_UPC_REDUCTIONS(UL, unsigned long)
LAPWING_UPC_REDUCTIONS(F, float)
LAPWING_UPC_REDUCTIONS(D, double)
LAPWING_UPC_REDUCTIONS(LD, long double)
#undef LAPWING_UPC_REDUCTIONS

} // extern "C"
