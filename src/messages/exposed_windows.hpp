#pragma once

#include "src/messages/endpoint.hpp"
#include "src/mpi/trusted_atomics.hpp"
#include "src/mpi/window_targets.hpp"

#include <lapwing/rank.hpp>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace lapwing::detail::messages {

/// Memory of this rank that others may ask for by its window's number.
struct ExposedMemory {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    std::atomic<std::uint64_t>* counters = nullptr; ///< for notified puts
    std::uint64_t counter_count = 0;
    /// The MPI window whose atomics are used on the memory, with its displacement unit and this rank's number in it;
    /// null: the processor's atomics are used.
    MPI_Win atomics = MPI_WIN_NULL;
    mpi::WindowTargets* targets = nullptr; ///< that window's, if there is one
    mpi::TrustedAtomics trusted = {};      ///< of that window's
    int unit = 1;
    Rank rank = 0;
};

/// What happens to requests for memory that has been abandoned: either the listener is notified, and through it all
/// ranks that this one has left, or each request is answered by ReplyKind::dropped.
enum class LateRequests : std::uint8_t { reported, dropped };

/// This rank's windows as others may ask for them.
class ExposedWindows {
public:
    ExposedWindows(Endpoint& endpoint, EngineListener& listener) : endpoint_{endpoint}, listener_{listener} {}

    void expose(std::uint64_t window, const ExposedMemory& memory) { exposed_.emplace(window, memory); }
    void withdraw(std::uint64_t window) { exposed_.erase(window); }
    void abandon(std::uint64_t window, LateRequests late);

    /// Where a request's bytes are, or null, and a problem that is noted, where the window does not have them here.
    [[nodiscard]] std::byte* address_of(Rank origin, const Request& request, std::uint64_t bytes) {
        return address_of(origin, request, request.offset, bytes);
    }
    [[nodiscard]] std::byte* address_of(Rank origin, const Request& request, Offset offset, std::uint64_t bytes);
    /// Null: it has none here.
    [[nodiscard]] const ExposedMemory* memory_of(std::uint64_t window) const;

    /// Unpacks data to the places that a RunTable names, or packs it from them. A table that names others is a problem.
    /// `message` is the table, `table_bytes` of it, and the data. Whether it was unpacked.
    [[nodiscard]] bool scatter(Rank origin, std::uint64_t window, std::span<const std::byte> message,
                               std::uint64_t table_bytes);
    void gather(Rank origin, std::uint64_t window, std::span<const std::byte> table, std::span<std::byte> data);
    void note_bad_table(Rank origin, std::uint64_t window);

    /// Writes what a RequestKind::put_runs carries. One that names places outside of the window, or other bytes than it
    /// has, is a problem, and writes nothing.
    void put_runs(Rank origin, const Request& request, std::span<const std::byte> payload);

    /// 0: none. One that the window does not have is a problem.
    void raise_counter(Rank origin, std::uint64_t window, std::uint32_t counter_plus_one);

    /// Whether a request comes too late for memory that this rank has abandoned; notifies the listener where it has to
    /// know.
    [[nodiscard]] bool is_abandoned(std::uint64_t window);
    /// Whether requests for it are answered by ReplyKind::dropped.
    [[nodiscard]] bool drops_late_requests(std::uint64_t window) const {
        return !abandoned_.empty() && find_dropping(window);
    }

private:
    [[nodiscard]] bool find_dropping(std::uint64_t window) const;

    Endpoint& endpoint_;
    EngineListener& listener_;
    std::unordered_map<std::uint64_t, ExposedMemory> exposed_;
    std::unordered_map<std::uint64_t, LateRequests> abandoned_;
};

} // namespace lapwing::detail::messages
