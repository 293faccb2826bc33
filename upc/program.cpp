#include "upc/program.hpp"

#include "src/support/hash.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/team_state.hpp"
#include "upc/guarded.hpp"
#include "window/repeated_looks.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <sched.h>
#include <unistd.h>

namespace lapwing::detail::support::settings_in {
void upc_program() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::upc {

namespace detail {
HeapAccess heap_access;
}

namespace {

enum class Record : std::uint8_t { off, threads, lines };

[[gnu::init_priority(
    lapwing::detail::support::before_programs)]] const lapwing::detail::support::ChoiceSetting<Record> record_setting{
    {.name = "LAPWING_UPC_RECORD",
     .default_value = "off",
     .unit = "",
     .help = "UPC: record the accesses to shared memory, and print them at the end, by thread, and also by source line",
     .collective = true},
    {{"off", Record::off}, {"threads", Record::threads}, {"lines", Record::lines}}};

/// A thread that waits for another in a loop yields its processor after so many strict reads, or fences.
constexpr std::uint32_t reads_before_yield = 16;
constexpr std::uint32_t fences_before_yield = 1024; // by the processor alone: some 30 us, and a yield less than one

[[nodiscard]] std::optional<std::int64_t> identity_of(const int* name) {
    if (name == nullptr) return std::nullopt;
    return std::int64_t{*name};
}

} // namespace

std::string text(const lapwing_upc_pointer& pointer) {
    return is_null(pointer)
               ? std::string{"the null pointer"}
               : fmt::format("thread {}, address {:#x}, phase {}", pointer.thread, pointer.address, pointer.phase);
}

ProgramState::ProgramState(const ProgramOptions& options, Team* runtime)
    : session_{open_session(runtime)},
      threads_{session_->team().size()},
      own_thread_{session_->team().rank().value},
      regions_{heap_regions(options, session_->team())},
      one_node_{session_->team().nodes() == 1},
      window_{session_->team(),
              regions_.local.end,
              {.name = "UPC's shared heap",
               .cache = options.cache,
               .zeroed_bytes = sizeof(PartHeader),
               .identity = {.value = regions_.local.begin ^ regions_.local.end << 20,
                            .text = fmt::format("a heap of {} bytes for each thread, whose local part begins at {}",
                                                regions_.local.end, regions_.local.begin)}}} {
    allocation_.open();
    detail::heap_access = {.heap_begin = regions_.blocks.begin,
                           .heap_bytes = regions_.local.end - regions_.blocks.begin,
                           .own = window_.map().own,
                           .threads = threads_,
                           .own_thread = own_thread_,
                           .checked = team().state().synchronisation().checks() >= 2,
                           .consistency = options.consistency};
    attach(window_, [](NearBinding& program) noexcept { static_cast<ProgramState&>(program).choose_inline_access(); });
    const Record recorded = record_setting.get(team().settings());
    record(recorded != Record::off, recorded == Record::lines);
    team().barrier();
}

void ProgramState::close() {
    transfers_.synci();
    team().barrier();
    if (record_setting.get(team().settings()) != Record::off) {
        const std::string report = memory_.recorder().report(team());
        std::fputs(report.c_str(), stderr);
    }
    last_words_.withdraw();
    lists_.close();
    allocation_.close();
    detail::heap_access = {};
    life_.reset();
    window_.close();
    session_->close();
}

void ProgramState::set_consistency(Consistency consistency) {
    detail::heap_access.consistency = consistency;
    choose_inline_access();
}

void ProgramState::record(bool on, bool by_line) {
    memory_.record(on);
    memory_.recorder().record_lines(by_line);
    choose_inline_access();
}

void ProgramState::choose_inline_access() {
    const bool all = detail::heap_access.consistency == Consistency::relaxed && !memory_.recording() &&
                     !lapwing::detail::trace::on() && !detail::heap_access.checked;
    const lapwing::detail::transport::MemoryMap map = near_map();
    // If the threads of the node are not consecutive, only the local part.
    const bool in_a_row = map.node_index == nullptr;
    detail::heap_access.near_first = static_cast<std::uint32_t>(in_a_row ? map.node_first : own_thread_);
    detail::heap_access.near_count = !all ? 0 : in_a_row ? static_cast<std::uint32_t>(map.node_count) : 1;
    detail::heap_access.bases = in_a_row ? map.bases : &detail::heap_access.own;
    const lapwing::detail::window::PageTables* const cached = window_.page_tables();
    detail::heap_access.page_tables = all && cached != nullptr ? cached : &lapwing::detail::window::no_page_tables;
}

std::string ProgramState::who(const char* call) const {
    return fmt::format("thread {} of {}: {}", own_thread_, threads_.threads(), call);
}

void ProgramState::require_in_part(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) const {
    if (is_null(pointer))
        throw RangeError{fmt::format("{}: {} bytes at the null pointer; allocate them first", who(call), bytes)};
    if (pointer.thread >= static_cast<std::uint32_t>(threads_.threads()))
        throw RangeError{
            fmt::format("{}: a pointer to thread {}, but threads are numbered from 0 to {}; has it been initialised?",
                        who(call), pointer.thread, threads_.threads() - 1)};
    if (pointer.address < regions_.blocks.begin)
        throw RangeError{fmt::format("{}: {} bytes at {}, before the heap: a member or an element of the null pointer; "
                                     "allocate the object first, or look where "
                                     "the pointer comes from",
                                     who(call), bytes, text(pointer))};
    if (pointer.address >= regions_.local.end || bytes > regions_.local.end - pointer.address)
        throw RangeError{fmt::format("{}: {} bytes at {} leave the thread's part, which ends at {:#x}; what crosses "
                                     "from one thread to the next takes a call "
                                     "for each",
                                     who(call), bytes, text(pointer), regions_.local.end)};
}

void ProgramState::require_within(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) {
    require_in_part(call, pointer, bytes);
    if (detail::heap_access.checked) static_cast<void>(allocation_.require_object(call, pointer, bytes));
}

void ProgramState::require_private(const char* call, const void* address, std::size_t bytes) const {
    if (address == nullptr)
        throw UsageError{fmt::format("{}: the pointer-to-private is null, and the call needs {} bytes there; pass "
                                     "the address of an object of so many",
                                     who(call), bytes)};
}

std::byte* ProgramState::reachable(const lapwing_upc_pointer& pointer) const {
    if (pointer.address < regions_.blocks.begin || pointer.thread >= static_cast<std::uint32_t>(threads_.threads()) ||
        pointer.address >= regions_.local.end)
        return nullptr;
    const std::span<std::byte> part = window_.reachable(rank_of(pointer));
    return part.empty() ? nullptr : part.data() + pointer.address;
}

void ProgramState::note_store(const lapwing_upc_pointer& destination, std::span<const std::byte> bytes) {
    window_.state().order().copies().written(rank_of(destination), offset_of(destination), bytes);
}

lapwing_upc_pointer ProgramState::own_pointer(const void* address) const {
    const auto* const byte = static_cast<const std::byte*>(address);
    const std::span<std::byte> own = window_.local();
    if (byte < own.data() + regions_.blocks.begin || byte >= own.data() + own.size())
        throw RangeError{fmt::format("{}: address {} is not in the calling thread's part of the shared heap; only "
                                     "shared memory has pointers-to-shared",
                                     who("own_pointer"), address)};
    return {static_cast<std::uint64_t>(byte - own.data()), static_cast<std::uint32_t>(own_thread_), 0};
}

void ProgramState::barrier(const int* name) {
    if (between_phases_)
        throw UsageError{
            fmt::format("{}: the upc_wait for the previous upc_notify is missing; call it first", who("upc_barrier"))};
    if (!uncompared_.number()) return team().barrier(identity_of(name));
    uncompared_.compare(team().state().synchronisation(), lapwing::detail::team::CollectiveCall::barrier,
                        identity_of(name), [this] { return who("upc_barrier"); });
}

void ProgramState::barrier_for(const char* call, const lapwing_upc_pointer& pointer) {
    // Outside the names that upc_barrier can have. Different pointers may have the same identity by accident; the
    // mismatch then goes unnoticed.
    static_assert(std::has_unique_object_representations_v<lapwing_upc_pointer>);
    const std::uint64_t hash = lapwing::detail::support::hash_of(std::as_bytes(std::span{&pointer, 1}));
    try {
        team().barrier(static_cast<std::int64_t>((hash >> 2) | std::uint64_t{1} << 61));
    } catch (const MismatchError&) {
        throw MismatchError{fmt::format("{}: {} here, and another thread passes another pointer, or is in another "
                                        "call; pass the same on all threads. Nothing was "
                                        "freed",
                                        who(call), text(pointer))};
    }
}

void ProgramState::notify(const int* name) {
    if (between_phases_)
        throw UsageError{
            fmt::format("{}: the upc_wait for the previous upc_notify is missing; call it first", who("upc_notify"))};
    team().state().synchronisation().notify_split(identity_of(name), uncompared_.number());
    notified_calls_ = std::exchange(uncompared_, {});
    between_phases_ = true;
    notified_ = identity_of(name);
}

void ProgramState::wait(const int* name) {
    if (!between_phases_)
        throw UsageError{fmt::format("{}: there was no upc_notify before it; call that first", who("upc_wait"))};
    // A missing name matches any name (UPC language specification 1.3, section 6.6.1).
    if (name != nullptr && notified_ && identity_of(name) != notified_)
        throw MismatchError{fmt::format("{}: its name is {}, that of the previous upc_notify {}; pass the same",
                                        who("upc_wait"), *name, *notified_)};
    between_phases_ = false;
    const UncomparedCalls calls = std::exchange(notified_calls_, {});
    team().state().synchronisation().wait_split(notified_, calls.arguments([this] { return who("upc_wait"); }));
}

void ProgramState::fence() {
    // Among threads of one node all accesses to the heap are loads and stores. Sequentially consistent: of two threads
    // that store, fence and load what the other stores, one must see it.
    const bool by_processor = one_node_ && team().state().epoch().only_memory();
    // A loop of relaxed reads and fences waits for another thread, as repeated strict reads do.
    if (++fences_ % (by_processor ? fences_before_yield : reads_before_yield) == 0) let_others_run("upc_fence");
    if (!by_processor) return team().fence();
    team().state().check_usable("upc_fence");
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void ProgramState::get_strict(const char* call, void* destination, const lapwing_upc_pointer& source,
                              std::size_t bytes) {
    fence();
    memory_.get(call, destination, source, bytes);
    fence();
    // A thread that finds the same in the same objects again and again waits for another.
    std::uint64_t value = 0;
    std::memcpy(&value, destination, std::min(bytes, sizeof value));
    if (lapwing::detail::window::RepeatedLooks::again(this, static_cast<int>(source.thread), source.address, value) &&
        ++repeated_reads_ % reads_before_yield == 0)
        let_others_run(call);
}

void ProgramState::let_others_run(const char* call) {
    // Whom this thread waits for may need this processor, or a reply from it, or have left.
    if (!team().state().progress()) sched_yield();
    team().state().check_reachable(call, lapwing::detail::team::Membership::any_rank);
}

void ProgramState::put_strict(const char* call, const lapwing_upc_pointer& destination, const void* source,
                              std::size_t bytes) {
    fence();
    memory_.put(call, destination, source, bytes);
    fence();
}

// The one program.

namespace {

/// Never destroyed: exit may run it later than the destructors of static objects.
std::unique_ptr<ProgramState>& current() {
    static auto* const program = new std::unique_ptr<ProgramState>;
    return *program;
}

/// The state of a program between its start and its end.
struct Ending {
    bool once_started = false;
    bool begun = false; ///< the end, or an abort, has begun: exit does not begin another
    pid_t process = 0;  ///< that started the program: a child of fork() takes no part in it
};
Ending ending;

/// exit() acts as a return from main on its thread, with the implied barrier (UPC language specification 1.3,
/// section 7.2.1).
void end_at_exit() {
    if (current() == nullptr || ending.begun || ending.process != getpid() ||
        lapwing::detail::team::TeamRegistry::mpi_ended())
        return;
    try {
        end_program();
    } catch (const std::exception& error) {
        // Not to the handler, which must not exit from here.
        std::fprintf(stderr, "lapwing: UPC: %s\n", in_words_of_upc(error.what()).c_str());
        end_all(1);
    }
}

} // namespace

ProgramState& program(const char* call) {
    if (current() == nullptr)
        throw UsageError{
            fmt::format("{}: UPC has not been started, or has ended; call lapwing_upc_start() first", call)};
    return *current();
}

void start_program(const ProgramOptions& options, Team* runtime) {
    if (current() != nullptr) throw UsageError{"lapwing_upc_start: UPC has been started already; start it once"};
    current() = std::make_unique<ProgramState>(options, runtime);
    // Registered after everything that the start creates, so that exit runs it earlier.
    if (!ending.once_started) std::atexit(end_at_exit);
    ending = {.once_started = true, .begun = false, .process = getpid()};
}

void abandon_program() noexcept {
    detail::heap_access = {};
    current().reset();
}

void end_program() {
    if (current() == nullptr && ending.once_started) return;
    ProgramState& here = program("lapwing_upc_end");
    ending.begun = true;
    here.close();
    current().reset();
}

void write_out_all() noexcept {
    if (current() != nullptr && !ending.begun && !lapwing::detail::team::TeamRegistry::mpi_ended())
        current()->last_words().ask();
}

void end_by_abort() noexcept { ending.begun = true; }

} // namespace lapwing::upc
