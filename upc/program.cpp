#include "upc/program.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <span>

namespace lapwing::support::settings_in {
void upc_program() {} // see cmake/LapwingSettings.cmake
}

namespace lapwing::upc {

namespace detail {
HeapAccess heap_access;
}

namespace {

enum class Record : std::uint8_t { off, threads, lines };

[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<Record> record_setting{
    {.name = "LAPWING_UPC_RECORD",
     .default_value = "off",
     .unit = "",
     .help = "UPC: record the accesses to shared memory, and print them at the end, by thread, and also by source line",
     .collective = true},
    {{"off", Record::off}, {"threads", Record::threads}, {"lines", Record::lines}}};

[[nodiscard]] std::optional<std::int64_t> identity_of(const int* name) {
    if (name == nullptr) return std::nullopt;
    return std::int64_t{*name};
}

} // namespace

std::string text(const lapwing_upc_pointer& pointer) {
    return is_null(pointer) ? std::string{"the null pointer"} : fmt::format("thread {}, address {:#x}, phase {}", pointer.thread, pointer.address, pointer.phase);
}

ProgramState::ProgramState(const ProgramOptions& options)
    : session_{open_session()}, threads_{session_->team().size()}, own_thread_{session_->team().rank().value},
      regions_{heap_regions(options, session_->team())},
      window_{session_->team(),
              regions_.local.end,
              {.name = "UPC's shared heap",
               .cache = options.cache,
               .zeroed_bytes = sizeof(PartHeader),
               .identity = {.value = regions_.local.begin ^ regions_.local.end << 20, .what = "the sizes of the heaps"}}} {
    allocation_.make();
    detail::heap_access = {.part_bytes = regions_.local.end,
                   .own = window_.map().own,
                   .threads = threads_,
                   .own_thread = own_thread_,
                   .consistency = options.consistency};
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
    detail::heap_access = {};
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
    const bool all = detail::heap_access.consistency == Consistency::relaxed && !memory_.recording();
    const transport::MemoryMap& map = window_.map();
    // Where the threads of the node do not follow each other, the own part alone.
    const bool in_a_row = map.node_index == nullptr;
    detail::heap_access.near_first = static_cast<std::uint32_t>(in_a_row ? map.node_first : own_thread_);
    detail::heap_access.near_count = !all ? 0 : in_a_row ? static_cast<std::uint32_t>(map.node_count) : 1;
    detail::heap_access.bases = in_a_row ? map.bases : &detail::heap_access.own;
    const window::HotPageTables* const cached = window_.hot_pages();
    detail::heap_access.hot_pages = all && cached != nullptr ? cached : &window::no_hot_pages;
}

std::string ProgramState::who(const char* call) const { return fmt::format("thread {} of {}: {}", own_thread_, threads_.threads(), call); }

void ProgramState::require_in_part(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) const {
    if (is_null(pointer)) throw RangeError{fmt::format("{}: {} bytes at the null pointer; allocate them first", who(call), bytes)};
    if (pointer.thread >= static_cast<std::uint32_t>(threads_.threads()))
        throw RangeError{fmt::format("{}: a pointer to thread {}, and there are threads 0 to {}; has it been initialised?", who(call), pointer.thread,
                                     threads_.threads() - 1)};
    if (pointer.address >= regions_.local.end || bytes > regions_.local.end - pointer.address)
        throw RangeError{fmt::format("{}: {} bytes at {} leave the thread's part, which ends at {:#x}; what crosses from one thread to the next takes a call "
                                     "for each",
                                     who(call), bytes, text(pointer), regions_.local.end)};
}

void ProgramState::require_within(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) {
    require_in_part(call, pointer, bytes);
    if constexpr (assertion_level >= 2) static_cast<void>(allocation_.require_object(call, pointer, bytes));
}

std::byte* ProgramState::reachable(const lapwing_upc_pointer& pointer) const {
    if (is_null(pointer) || pointer.thread >= static_cast<std::uint32_t>(threads_.threads()) || pointer.address >= regions_.local.end) return nullptr;
    const std::span<std::byte> part = window_.reachable(rank_of(pointer));
    return part.empty() ? nullptr : part.data() + pointer.address;
}

lapwing_upc_pointer ProgramState::own_pointer(const void* address) const {
    const auto* const byte = static_cast<const std::byte*>(address);
    const std::span<std::byte> own = window_.local();
    if (byte < own.data() + regions_.blocks.begin || byte >= own.data() + own.size())
        throw RangeError{fmt::format("{}: address {} is not in the calling thread's part of the shared heap; only shared memory has pointers-to-shared",
                                     who("own_pointer"), address)};
    return {static_cast<std::uint64_t>(byte - own.data()), static_cast<std::uint32_t>(own_thread_), 0};
}

void ProgramState::barrier(const int* name) { team().barrier(identity_of(name)); }
void ProgramState::notify(const int* name) {
    team().notify(identity_of(name));
    notified_ = identity_of(name);
}
void ProgramState::wait(const int* name) {
    // A missing name is no other one (UPC language specification 1.3, section 6.6.1).
    team().wait(name == nullptr || !notified_ ? notified_ : identity_of(name));
}

// The one program.

namespace {

/// A program that exits without an end leaves it as it is: at that time no collective call could complete.
std::unique_ptr<ProgramState>& current() {
    static auto* const program = new std::unique_ptr<ProgramState>;
    return *program;
}

} // namespace

ProgramState& program(const char* call) {
    if (current() == nullptr) throw UsageError{fmt::format("{}: UPC has not been started, or has ended; call lapwing_upc_start() first", call)};
    return *current();
}

void start_program(const ProgramOptions& options) {
    if (current() != nullptr) throw UsageError{"lapwing_upc_start: UPC has been started already; start it once"};
    current() = std::make_unique<ProgramState>(options);
}

void abandon_program() noexcept {
    detail::heap_access = {};
    current().reset();
}

void end_program() {
    program("lapwing_upc_end").close();
    current().reset();
}

} // namespace lapwing::upc
