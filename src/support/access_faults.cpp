#include "src/support/access_faults.hpp"

#include "src/support/mutex.hpp"
#include "src/support/signals_blocked.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <system_error>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
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
    std::atomic<WatchedRange::Resolve> resolve{nullptr};
    std::atomic<void*> context{nullptr};

    [[nodiscard]] bool has(std::uintptr_t address) const noexcept {
        const std::uintptr_t first = begin.load(std::memory_order_acquire);
        return first != 0 && address >= first && address < end.load(std::memory_order_relaxed);
    }
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

/// Whether an access was a write, as far as that is known.
bool was_write(const void* context) noexcept {
#if defined(__x86_64__)
    constexpr greg_t write_bit = 2; // of the processor's error code
    return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit) != 0;
#else
    (void)context;
    return false;
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
constinit std::atomic<bool> explained{false};
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

// ---- who opens what has been touched --------------------------------------------------------------------------------

/// A thread that has touched an address, and waits in the handler.
struct Request {
    enum State : std::uint32_t { free, claimed, asked, opened, was_open, refused };
    std::atomic<std::uint32_t> state{free};
    std::atomic<std::uintptr_t> address{0};
};

constinit std::array<Request, 64> requests{};

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
    (void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(const std::atomic<std::uint32_t>& word) noexcept {
    (void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// The thread that serves requests, as long as there is a range that asks for it.
class Server {
public:
    void enter() {
        const std::lock_guard lock{mutex_};
        if (users_ == 0) {
            ending_ = false;
            const SignalsBlocked blocked;
            if (const int problem = pthread_create(&thread_, nullptr, run, this); problem != 0)
                throw std::system_error{problem, std::generic_category(), "a thread for mapped arrays"};
            process_ = getpid();
        }
        ++users_;
    }
    void leave() {
        const std::lock_guard lock{mutex_};
        if (--users_ > 0 || process_ != getpid()) return; // a child process has no such thread
        ending_ = true;
        ring();
        pthread_join(thread_, nullptr);
    }
    /// After the slot has become free: waits until it is not served any more.
    void finish(const Slot& slot) const noexcept {
        while (served_ == &slot && process_ == getpid()) sched_yield();
    }
    /// In a signal handler: waits until the address has been looked at.
    [[nodiscard]] Request::State open(std::uintptr_t address) noexcept {
        // The thread itself cannot wait for itself.
        if (process_ != getpid() || serving) return Request::refused;
        for (std::size_t k = 0;; k = (k + 1) % requests.size()) {
            Request& request = requests[k];
            std::uint32_t expected = Request::free;
            if (!request.state.compare_exchange_strong(expected, Request::claimed)) {
                if (k + 1 == requests.size()) sched_yield();
                continue;
            }
            request.address = address;
            request.state = Request::asked;
            ring();
            std::uint32_t state = Request::asked;
            while ((state = request.state) == Request::asked) sleep_while(request.state, state);
            request.state = Request::free;
            return static_cast<Request::State>(state);
        }
    }

private:
    void ring() noexcept {
        ++bell_;
        wake(bell_);
    }
    static void* run(void* server) noexcept {
        static_cast<Server*>(server)->serve();
        return nullptr;
    }
    void serve() noexcept {
        serving = true;
        while (true) {
            const std::uint32_t heard = bell_;
            for (Request& request : requests)
                if (request.state == Request::asked) {
                    request.state = resolve(request.address);
                    wake(request.state);
                }
            if (ending_) return;
            sleep_while(bell_, heard);
        }
    }
    [[nodiscard]] Request::State resolve(std::uintptr_t address) noexcept {
        Request::State state = Request::refused;
        for (const Slot& slot : slots) {
            if (!slot.has(address)) continue;
            const WatchedRange::Resolve resolve = slot.resolve.load(std::memory_order_relaxed);
            if (resolve == nullptr) continue;
            // Whoever takes the range away does it in the other order: one of the two sees what the other has done.
            served_ = &slot;
            if (slot.begin != 0 && slot.has(address)) {
                const WatchedRange::Outcome outcome =
                    resolve(slot.context.load(std::memory_order_relaxed),
                            reinterpret_cast<std::byte*>(address)); // NOLINT(performance-no-int-to-ptr)
                if (outcome == WatchedRange::Outcome::opened) state = Request::opened;
                else if (outcome == WatchedRange::Outcome::was_open) state = Request::was_open;
            }
            served_ = nullptr;
        }
        return state;
    }

    static inline thread_local constinit bool serving = false;
    Mutex mutex_{LockRank::leaf};
    pthread_t thread_{};
    int users_ = 0;
    std::atomic<const Slot*> served_{nullptr};
    std::atomic<pid_t> process_{0};
    std::atomic<bool> ending_{false};
    std::atomic<std::uint32_t> bell_{0};
};

constinit Server server;

/// Whether an address that was open has come here so often, one time after the other, that it must be written to.
bool is_in_vain(std::uintptr_t address, bool was_open) noexcept {
    constexpr unsigned many = 1000;
    static constinit std::atomic<std::uintptr_t> last{0};
    static constinit std::atomic<unsigned> times{0};
    if (last.exchange(address) != address || !was_open) times = 0;
    return was_open && ++times > many;
}

/// Whether somebody has seen to it that the address may be read.
bool opened(const siginfo_t& info, const void* context) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    if (was_write(context)) return false;
    for (const Slot& slot : slots)
        if (slot.has(address) && slot.resolve.load(std::memory_order_relaxed) != nullptr) {
            const int error = errno;
            const Request::State state = server.open(address);
            errno = error;
            return state != Request::refused && !is_in_vain(address, state == Request::was_open);
        }
    return false;
}

/// Whether the address is in a watched range: then what is wrong has been written.
bool explain(const siginfo_t& info, const void* context) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    for (const Slot& slot : slots) {
        if (!slot.has(address)) continue;
        if (explaining.test_and_set()) { // another thread's fault ends the program, after its message
            for (const timespec moment{0, 1'000'000}; !explained;) nanosleep(&moment, nullptr);
            return true;
        }
        const std::size_t size = slot.explain.load(std::memory_order_relaxed)(
            slot.context.load(std::memory_order_relaxed), static_cast<const std::byte*>(info.si_addr),
            was_write(context), text.data(), text.size());
        write_all(text.data(), size);
        write_place(interrupted(context));
        explained = true;
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
    const bool is_fault = info->si_code > 0;        // else somebody has sent the signal
    if (is_fault && opened(*info, context)) return; // the instruction is carried out again
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

WatchedRange::WatchedRange(std::byte* begin, std::uint64_t bytes, Explain explain, void* context, Resolve resolve)
    : slot_{most_ranges} {
    if (resolve != nullptr) server.enter();
    std::unique_lock lock{slots_mutex};
    for (slot_ = 0; slot_ < most_ranges && slots[slot_].begin.load(std::memory_order_relaxed) != 0;) ++slot_;
    if (slot_ == most_ranges) {
        lock.unlock();
        if (resolve == nullptr) return;
        server.leave();
        throw std::system_error{std::make_error_code(std::errc::resource_unavailable_try_again),
                                "more mapped arrays on demand than can be watched"};
    }
    install();
    Slot& slot = slots[slot_];
    slot.end.store(reinterpret_cast<std::uintptr_t>(begin) + bytes, std::memory_order_relaxed);
    slot.explain.store(explain, std::memory_order_relaxed);
    slot.resolve.store(resolve, std::memory_order_relaxed);
    slot.context.store(context, std::memory_order_relaxed);
    slot.begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
}

WatchedRange::~WatchedRange() {
    if (slot_ == most_ranges) return;
    Slot& slot = slots[slot_];
    bool served = false;
    {
        const std::lock_guard lock{slots_mutex};
        served = slot.resolve.load(std::memory_order_relaxed) != nullptr;
        slot.begin = 0;
    }
    if (!served) return;
    server.finish(slot);
    server.leave();
}

} // namespace lapwing::detail::support
