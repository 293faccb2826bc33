#include "src/support/access_faults.hpp"

#include "src/support/mutex.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): not every system's headers have it

namespace lapwing::detail::support {
namespace {

/// Read by a signal handler: `begin` is stored last, and taken away first.
struct Slot {
    std::atomic<std::uintptr_t> begin{0}; ///< 0: free
    std::atomic<std::uintptr_t> end{0};
    std::atomic<WatchedRange::Explain> explain{nullptr};
    std::atomic<const void*> context{nullptr};
};

constexpr std::size_t most_ranges = 1024;
constinit std::array<Slot, most_ranges> slots{};
constinit Mutex slots_mutex{LockRank::leaf};
/// What handled faults before: written with the mutex held, while the handler is not installed.
struct sigaction handled_before{};

/// The address of the instruction that a signal has interrupted; null where that is not known.
const void* interrupted(const void* context) noexcept {
    const auto* const state = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return reinterpret_cast<const void*>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return reinterpret_cast<const void*>(state->uc_mcontext.pc);
#else
    (void)state;
    return nullptr;
#endif
}

void write_all(const char* text, std::size_t size) noexcept {
    while (size > 0) {
        const ssize_t written = write(STDERR_FILENO, text, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text += written;
        size -= static_cast<std::size_t>(written);
    }
}

// For the handler, which may have little stack, and must not allocate memory; used by the thread that faults first.
std::atomic_flag explaining = ATOMIC_FLAG_INIT;
constinit std::array<char, 4096> text{};
constinit std::array<char, 32> place_text{};
posix_spawn_file_actions_t to_errors; ///< made when the handler is installed
constinit bool has_actions = false;

/// Where in the program an instruction is: its file and the place there, and then, where addr2line is to be had, its
/// line, which that program writes itself.
void write_place(const void* instruction) noexcept {
    Dl_info file{};
    if (instruction == nullptr || dladdr(instruction, &file) == 0 || file.dli_fname == nullptr) return;
    // Addresses in an executable that is loaded where it was linked to are not relative to its start.
    const auto address = reinterpret_cast<std::uintptr_t>(instruction);
    const auto base = reinterpret_cast<std::uintptr_t>(file.dli_fbase);
    const std::uintptr_t offset = base == 0x400000 ? address : address - base;
    *fmt::format_to_n(place_text.data(), place_text.size() - 1, "{:#x}", offset).out = '\0';
    const auto line = fmt::format_to_n(text.data(), text.size(), "  at {} in {}\n", place_text.data(), file.dli_fname);
    write_all(text.data(), static_cast<std::size_t>(line.out - text.data()));

    std::array<char, 10> name{"addr2line"};
    std::array<char, 8> options{"-Cfpie"};
    std::array<char*, 5> arguments{name.data(), options.data(), const_cast<char*>(file.dli_fname), place_text.data(),
                                   nullptr};
    pid_t child = 0;
    if (has_actions && posix_spawnp(&child, name.data(), &to_errors, nullptr, arguments.data(), environ) == 0)
        while (waitpid(child, nullptr, 0) == -1 && errno == EINTR) {
        }
}

/// Whether the address is in a watched range: then what is wrong has been written.
bool explain(const siginfo_t& info, const void* context) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    for (const Slot& slot : slots) {
        const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
        if (begin == 0 || address < begin || address >= slot.end.load(std::memory_order_relaxed)) continue;
        if (explaining.test_and_set()) return true;
        const std::size_t size = slot.explain.load(std::memory_order_relaxed)(
            slot.context.load(std::memory_order_relaxed), static_cast<const std::byte*>(info.si_addr), text.data(),
            text.size());
        write_all(text.data(), size);
        write_place(interrupted(context));
        return true;
    }
    return false;
}

/// Whether the same instruction has come here so often, one time after the other, that handlers must be calling each
/// other.
bool is_endless(const void* instruction) noexcept {
    constexpr unsigned many = 1000;
    static constinit std::atomic<const void*> last{nullptr};
    static constinit std::atomic<unsigned> times{0};
    if (last.exchange(instruction) != instruction) times = 0;
    return ++times > many;
}

void on_fault(int signal, siginfo_t* info, void* context) noexcept {
    const bool is_fault = info->si_code > 0; // else somebody has sent the signal
    if (is_fault && explain(*info, context)) {
        // The instruction faults again, and goes to whoever came before, or ends the program: a debugger, or a core
        // file, shows the line itself.
        sigaction(signal, &handled_before, nullptr);
        return;
    }
    const bool endless = is_fault && is_endless(interrupted(context));
    if (!endless && (handled_before.sa_flags & SA_SIGINFO) != 0)
        return handled_before.sa_sigaction(signal, info, context);
    if (!endless && handled_before.sa_handler != SIG_DFL && handled_before.sa_handler != SIG_IGN)
        return handled_before.sa_handler(signal);
    if (!is_fault && handled_before.sa_handler == SIG_IGN) return;
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (!is_fault) raise(signal); // it is delivered when this handler returns
}

void install() noexcept {
    struct sigaction now{};
    if (sigaction(SIGSEGV, nullptr, &now) != 0 || now.sa_sigaction == on_fault) return;
    if (!has_actions)
        has_actions = posix_spawn_file_actions_init(&to_errors) == 0 &&
                      posix_spawn_file_actions_adddup2(&to_errors, STDERR_FILENO, STDOUT_FILENO) == 0;
    handled_before = now;
    struct sigaction ours{};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, nullptr);
}

} // namespace

WatchedRange::WatchedRange(const std::byte* begin, std::uint64_t bytes, Explain explain, const void* context) noexcept
    : slot_{most_ranges} {
    const std::lock_guard lock{slots_mutex};
    for (slot_ = 0; slot_ < most_ranges && slots[slot_].begin.load(std::memory_order_relaxed) != 0;) ++slot_;
    if (slot_ == most_ranges) return;
    install();
    Slot& slot = slots[slot_];
    slot.end.store(reinterpret_cast<std::uintptr_t>(begin) + bytes, std::memory_order_relaxed);
    slot.explain.store(explain, std::memory_order_relaxed);
    slot.context.store(context, std::memory_order_relaxed);
    slot.begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
}

WatchedRange::~WatchedRange() {
    if (slot_ == most_ranges) return;
    const std::lock_guard lock{slots_mutex};
    slots[slot_].begin.store(0, std::memory_order_relaxed);
}

} // namespace lapwing::detail::support
