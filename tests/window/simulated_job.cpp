#include "tests/window/simulated_job.hpp"

#include "src/messages/progress_thread.hpp"
#include "src/mpi/trusted_atomics.hpp"
#include "src/mpi/watched_call.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cxxabi.h>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

using lapwing::detail::messages::Progressing;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "simulated job: %s\n", what.c_str());
    std::_Exit(1); // the fibers cannot be unwound
}

// ---- what MPI keeps -------------------------------------------------------------------------------------------------

using Members = std::vector<int>; ///< ranks of the job

/// A collective call: the ranks come to it in any step, and leave it as many steps after the last of them as a tree has
/// levels.
struct Collective {
    const char* call = "";
    std::size_t arrived = 0;
    std::uint64_t complete_at = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::byte> value;          ///< combined, gathered, or broadcast
    std::vector<std::pair<int, int>> keys; ///< of a split: color and key of each rank
    std::vector<std::size_t> made;         ///< for each rank the number of the communicator or window
};

struct Communicator {
    std::shared_ptr<const Members> members; ///< ascending
    std::vector<std::uint32_t> calls;       ///< collective ones that each rank has begun
    std::unordered_map<std::uint32_t, std::shared_ptr<Collective>> under_way; ///< by their number

    [[nodiscard]] int size() const { return static_cast<int>(members->size()); }
    [[nodiscard]] int rank_of(int rank) const {
        const auto found = std::ranges::lower_bound(*members, rank);
        return found != members->end() && *found == rank ? static_cast<int>(found - members->begin()) : MPI_UNDEFINED;
    }
};

struct MemoryWindow {
    std::size_t communicator = 0;
    std::vector<std::byte*> bases;
    std::vector<MPI_Aint> sizes;
    std::byte* memory = nullptr; ///< of all of them, where MPI allocates it
};

struct Message {
    std::size_t communicator = 0;
    int from = 0;
    int to = 0;
    int tag = 0;
    std::vector<std::byte> bytes;
};

struct Receive {
    std::size_t communicator = 0;
    int from = 0;
    int tag = 0;
    std::byte* memory = nullptr;
    int bytes = 0;
    std::size_t request = 0;
};

struct Request {
    bool done = false;
    int from = 0; ///< of a message that was received
    int bytes = 0;
    std::shared_ptr<Collective> collective; ///< null: a message
    void* result = nullptr;                 ///< of the collective call
};

// ---- ranks and their time -------------------------------------------------------------------------------------------

/// What C++ keeps for each thread about exceptions, and so for each fiber.
struct Exceptions {
    void* caught = nullptr;
    unsigned uncaught = 0;
};

struct Rank {
    enum class State : std::uint8_t { runs, waits, in_collective, meets, finished };
    State state = State::runs;
    bool listed = false; ///< among those that are to run
    ucontext_t context{};
    Exceptions exceptions{};
    lapwing::detail::support::LockOrder::Held locks{};
    const Collective* collective = nullptr; ///< that it is blocked in
    Progressing* thread = nullptr;
    std::vector<Request> requests;
    std::vector<std::size_t> free_requests;
    std::vector<Receive> receives;
    std::size_t to_tell = 0; ///< messages sent and received that the rank has not been told of
    bool told = false;       ///< something, since it last waited
    std::deque<Message> unread;
    std::uint64_t unread_bytes = 0;
    std::uint64_t most_unread_bytes = 0;
    test::Spent spent;
    test::Spent at_begin;
    std::uint64_t ended_at = 0; ///< step in which its part of what is measured was over
};

constexpr std::size_t stack_bytes = 256 * 1024; ///< of which a fiber touches a few pages
constexpr int nobody = -1;

struct Job {
    test::SimulatedMachines machines;
    const std::function<void(int)>* program = nullptr;
    std::vector<Rank> ranks;
    std::vector<std::unique_ptr<Communicator>> communicators;
    std::vector<std::unique_ptr<MemoryWindow>> windows;
    std::byte* stacks = nullptr;
    ucontext_t scheduler{};
    int current = nobody;  ///< the rank on whose behalf something runs
    bool in_fiber = false; ///< in its own fiber, which may wait
    std::uint64_t step = 1;
    std::uint64_t idle_us = 0; ///< time that has passed while nothing was on its way
    std::deque<int> to_run;
    std::vector<Message> sent;                                                  ///< in this step
    std::map<std::uint64_t, std::vector<std::shared_ptr<const Members>>> wakes; ///< by steps
    std::size_t meeting = 0;
    std::size_t finished = 0;
    std::uint64_t measuring_since = 0;
    const char* measuring = nullptr;
    std::vector<test::Measured> measured;
    std::unique_ptr<std::byte[]> calibration =
        std::make_unique<std::byte[]>(lapwing::detail::team::TeamState::calibration_bytes);

    [[nodiscard]] Rank& self() { return ranks[static_cast<std::size_t>(current)]; }
};

Job* job = nullptr;
/// Whose memory is being allocated; null: nobody's.
test::Spent* account = nullptr;

/// The simulation itself is at work, whose memory is not the rank's.
class Outside {
public:
    Outside() : before_{std::exchange(account, nullptr)} {}
    ~Outside() { account = before_; }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

private:
    test::Spent* before_;
};

void list(int rank) {
    Rank& one = job->ranks[static_cast<std::size_t>(rank)];
    if (std::exchange(one.listed, true)) return;
    job->to_run.push_back(rank);
}

/// By a fiber: others go on, until something has happened to this rank.
void suspend(Rank::State state) {
    Rank& self = job->self();
    self.state = state;
    swapcontext(&self.context, &job->scheduler);
}

void let_others_run() {
    {
        const Outside outside;
        list(job->current);
    }
    suspend(Rank::State::waits);
}

void swap_exceptions(Rank& rank) {
    auto* const own = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
    std::swap(*own, rank.exceptions);
}

void swap_locks(Rank& rank) {
    if constexpr (lapwing::detail::support::internal_assertions)
        std::swap(lapwing::detail::support::LockOrder::held(), rank.locks);
}

void fiber() {
    const int rank = job->current;
    try {
        (*job->program)(rank);
    } catch (const std::exception& error) {
        fail("rank " + std::to_string(rank) + " ended by an exception: " + error.what());
    }
    ++job->finished;
    suspend(Rank::State::finished);
}

void make_fiber(ucontext_t& context, std::byte* stack) {
    getcontext(&context);
    context.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = stack_bytes};
    context.uc_link = nullptr; // fibers end by being suspended for good
    makecontext(&context, fiber, 0);
}

void run(int rank) {
    Rank& one = job->ranks[static_cast<std::size_t>(rank)];
    one.listed = false;
    job->current = rank;
    account = &one.spent;
    const bool blocked = one.state == Rank::State::in_collective && one.collective->complete_at > job->step;
    if (blocked || one.state == Rank::State::meets) {
        // Its progress thread has the processor.
        const Progressing::Clock::time_point now = Progressing::Clock::now();
        while (one.thread != nullptr && one.thread->progress_round(now).moved) {
        }
    } else if (one.state != Rank::State::finished) {
        job->in_fiber = true;
        one.state = Rank::State::runs;
        swap_exceptions(one);
        swap_locks(one);
        swapcontext(&job->scheduler, &one.context);
        swap_locks(one);
        swap_exceptions(one);
        job->in_fiber = false;
    }
    account = nullptr;
    job->current = nobody;
}

void deliver(Message&& message) {
    Rank& to = job->ranks[static_cast<std::size_t>(message.to)];
    const auto match = std::ranges::find_if(to.receives, [&](const Receive& receive) {
        return receive.communicator == message.communicator && receive.tag == message.tag &&
               (receive.from == MPI_ANY_SOURCE || receive.from == message.from);
    });
    if (match == to.receives.end()) {
        to.unread_bytes += message.bytes.size();
        to.most_unread_bytes = std::max(to.most_unread_bytes, to.unread_bytes);
        to.unread.push_back(std::move(message));
        return;
    }
    if (static_cast<std::size_t>(match->bytes) < message.bytes.size()) fail("a message is larger than its receive");
    std::ranges::copy(message.bytes, match->memory);
    Request& request = to.requests[match->request];
    request.done = true;
    ++to.to_tell;
    request.from = message.from;
    request.bytes = static_cast<int>(message.bytes.size());
    to.receives.erase(match);
    ++to.spent.received;
    to.spent.received_bytes += message.bytes.size();
    list(message.to);
}

/// Of the next step.
void deliver_all() {
    ++job->step;
    for (Message& message : std::exchange(job->sent, {})) deliver(std::move(message));
    while (!job->wakes.empty() && job->wakes.begin()->first <= job->step) {
        for (const auto& members : job->wakes.begin()->second)
            for (const int rank : *members) list(rank);
        job->wakes.erase(job->wakes.begin());
    }
}

// ---- measuring ------------------------------------------------------------------------------------------------------

test::Spent operator-(const test::Spent& a, const test::Spent& b) {
    return {a.sent - b.sent,
            a.sent_bytes - b.sent_bytes,
            a.received - b.received,
            a.received_bytes - b.received_bytes,
            a.collectives - b.collectives,
            a.handles - b.handles,
            a.collective_bytes - b.collective_bytes,
            a.memory - b.memory,
            a.most_memory - b.memory};
}

template <class Combine>
void combine_into(test::Spent& to, const test::Spent& from, Combine combine) {
    to.sent = combine(to.sent, from.sent);
    to.sent_bytes = combine(to.sent_bytes, from.sent_bytes);
    to.received = combine(to.received, from.received);
    to.received_bytes = combine(to.received_bytes, from.received_bytes);
    to.collectives = combine(to.collectives, from.collectives);
    to.handles = combine(to.handles, from.handles);
    to.collective_bytes = combine(to.collective_bytes, from.collective_bytes);
    to.memory = combine(to.memory, from.memory);
    to.most_memory = combine(to.most_memory, from.most_memory);
}

/// All ranks have come, and nothing is on its way: a measurement begins, or has ended.
void end_meeting() {
    if (job->measuring != nullptr && job->measuring_since == 0) {
        job->measuring_since = job->step;
        for (Rank& rank : job->ranks) {
            rank.spent.most_memory = rank.spent.memory;
            rank.at_begin = rank.spent;
            rank.most_unread_bytes = 0;
        }
    } else {
        test::Measured result{.name = job->measuring, .most = {}, .total = {}};
        result.most.memory = std::numeric_limits<std::int64_t>::min();
        for (const Rank& rank : job->ranks) {
            const test::Spent spent = rank.spent - rank.at_begin;
            combine_into(result.most, spent, [](auto a, auto b) { return std::max(a, b); });
            combine_into(result.total, spent, [](auto a, auto b) { return a + b; });
            result.steps = std::max(result.steps, rank.ended_at - job->measuring_since);
            result.most_unread_bytes = std::max(result.most_unread_bytes, rank.most_unread_bytes);
        }
        job->measured.push_back(std::move(result));
        job->measuring = nullptr;
        job->measuring_since = 0;
    }
    job->meeting = 0;
    for (std::size_t i = 0; i < job->ranks.size(); ++i) {
        job->ranks[i].state = Rank::State::waits;
        list(static_cast<int>(i));
    }
}

void meet() {
    {
        const Outside outside;
        ++job->meeting;
        list(job->current); // its progress thread has a look at what the rank has left
    }
    suspend(Rank::State::meets);
}

void simulate() {
    constexpr int most_fruitless = 1000;
    constexpr std::uint64_t pause_us = 100'000;
    int fruitless = 0;
    while (job->finished < job->ranks.size()) {
        if (!job->to_run.empty()) {
            const int rank = job->to_run.front();
            job->to_run.pop_front();
            run(rank);
        } else if (!job->sent.empty() || !job->wakes.empty()) {
            fruitless = 0;
            deliver_all();
        } else if (job->meeting == job->ranks.size()) {
            fruitless = 0;
            end_meeting();
        } else {
            // Who waits may wait for what another rank has written to memory that both share, or for time to pass.
            if (++fruitless > most_fruitless) fail("ranks wait for each other, and nothing is on its way");
            if (fruitless > 2) job->idle_us += pause_us;
            for (std::size_t i = 0; i < job->ranks.size(); ++i)
                if (job->ranks[i].state == Rank::State::waits) list(static_cast<int>(i));
        }
    }
}

// ---- MPI's handles: pointers or numbers
// ------------------------------------------------------------------------------

template <class Handle>
Handle handle_of(std::size_t number) {
    ++number; // none is 0
    if constexpr (std::is_pointer_v<Handle>) return reinterpret_cast<Handle>(number);
    else return static_cast<Handle>(number);
}

template <class Handle>
std::size_t number_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) return reinterpret_cast<std::size_t>(handle) - 1;
    else return static_cast<std::size_t>(handle) - 1;
}

std::size_t communicator_number(MPI_Comm handle) { return handle == MPI_COMM_WORLD ? 0 : number_of(handle); }
Communicator& communicator(MPI_Comm handle) { return *job->communicators.at(communicator_number(handle)); }
MemoryWindow& window(MPI_Win handle) { return *job->windows.at(number_of(handle)); }

std::size_t add_communicator(std::shared_ptr<const Members> members) {
    auto made = std::make_unique<Communicator>();
    made->calls.resize(members->size());
    made->members = std::move(members);
    job->communicators.push_back(std::move(made));
    return job->communicators.size() - 1;
}

std::size_t size_of(MPI_Datatype type) {
    if (type == MPI_BYTE || type == MPI_CHAR) return 1;
    if (type == MPI_INT) return sizeof(int);
    if (type == MPI_INT64_T || type == MPI_UINT64_T || type == MPI_DOUBLE || type == MPI_UNSIGNED_LONG) return 8;
    fail("a datatype that is not simulated");
}

template <class T>
void combine_as(std::byte* to, const void* from, int count, MPI_Op operation) {
    for (int i = 0; i < count; ++i) {
        T a{};
        T b{};
        std::memcpy(&a, to + static_cast<std::size_t>(i) * sizeof a, sizeof a);
        std::memcpy(&b, static_cast<const std::byte*>(from) + static_cast<std::size_t>(i) * sizeof b, sizeof b);
        if (operation == MPI_SUM) a = static_cast<T>(a + b);
        else if (operation == MPI_MIN) a = std::min(a, b);
        else if (operation == MPI_MAX) a = std::max(a, b);
        else if constexpr (std::is_integral_v<T>) {
            if (operation == MPI_BOR) a = static_cast<T>(a | b);
            else if (operation == MPI_BAND) a = static_cast<T>(a & b);
            else fail("a reduction that is not simulated");
        } else {
            fail("a reduction that is not simulated");
        }
        std::memcpy(to + static_cast<std::size_t>(i) * sizeof a, &a, sizeof a);
    }
}

void combine(std::byte* to, const void* from, int count, MPI_Datatype type, MPI_Op operation) {
    if (type == MPI_INT) return combine_as<int>(to, from, count, operation);
    if (type == MPI_INT64_T) return combine_as<std::int64_t>(to, from, count, operation);
    if (type == MPI_DOUBLE) return combine_as<double>(to, from, count, operation);
    combine_as<std::uint64_t>(to, from, count, operation);
}

// ---- collective calls -----------------------------------------------------------------------------------------------

/// Communicators or windows.
enum class Makes : bool { nothing, handles };

/// This rank comes to its next collective call on a communicator; `bytes` are what it gives or gets.
std::shared_ptr<Collective> join(Communicator& on, const char* call, std::size_t bytes, Makes makes = Makes::nothing) {
    const int own = on.rank_of(job->current);
    const std::uint32_t number = on.calls[static_cast<std::size_t>(own)]++;
    std::shared_ptr<Collective>& collective = on.under_way[number];
    if (collective == nullptr) {
        collective = std::make_shared<Collective>();
        collective->call = call;
        if (makes == Makes::handles) collective->made.resize(on.members->size());
    }
    if (std::strcmp(collective->call, call) != 0)
        fail(std::string{"ranks meet in "} + call + " and " + collective->call);
    if (on.size() > 1) {
        ++job->self().spent.collectives;
        job->self().spent.handles += makes == Makes::handles ? 1 : 0;
        job->self().spent.collective_bytes += bytes;
    }
    return collective;
}

/// ... and has given what it has to. Whether it is the last.
bool arrive(Communicator& on, const std::shared_ptr<Collective>& collective) {
    if (++collective->arrived < on.members->size()) return false;
    const auto levels = static_cast<std::uint64_t>(std::bit_width(on.members->size() - 1));
    collective->complete_at = job->step + levels;
    if (levels != 0) job->wakes[collective->complete_at].push_back(on.members);
    std::erase_if(on.under_way, [&](const auto& entry) { return entry.second == collective; });
    return true;
}

void block_in(const Collective& collective) {
    while (collective.complete_at > job->step) {
        job->self().collective = &collective;
        suspend(Rank::State::in_collective);
    }
}

std::size_t take_request() {
    Rank& self = job->self();
    std::size_t number = self.requests.size();
    if (self.free_requests.empty()) {
        self.requests.emplace_back();
    } else {
        number = self.free_requests.back();
        self.free_requests.pop_back();
    }
    return number;
}

MPI_Request start(std::shared_ptr<Collective> collective, void* result) {
    const std::size_t number = take_request();
    Request& request = job->self().requests[number];
    request.collective = std::move(collective);
    request.result = result;
    return handle_of<MPI_Request>(number);
}

void give(const Collective& collective, void* result) {
    if (!collective.value.empty()) std::memcpy(result, collective.value.data(), collective.value.size());
}

std::shared_ptr<Collective> reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation,
                                   MPI_Comm on, const char* call) {
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
    Communicator& communicator = ::communicator(on);
    auto collective = join(communicator, call, bytes);
    const auto* const own = static_cast<const std::byte*>(from == MPI_IN_PLACE ? to : from);
    if (collective->arrived == 0) collective->value.assign(own, own + bytes);
    else combine(collective->value.data(), own, count, type, operation);
    arrive(communicator, collective);
    return collective;
}

std::shared_ptr<Collective> broadcast(void* memory, int count, MPI_Datatype type, int root, MPI_Comm on,
                                      const char* call) {
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
    Communicator& communicator = ::communicator(on);
    auto collective = join(communicator, call, bytes);
    const auto* const own = static_cast<const std::byte*>(memory);
    if (communicator.rank_of(job->current) == root) collective->value.assign(own, own + bytes);
    arrive(communicator, collective);
    return collective;
}

/// Of the rank that runs.
int current_machine() {
    const test::SimulatedMachines& all = job->machines;
    const int machines = (all.ranks + all.ranks_of_machine - 1) / all.ranks_of_machine;
    return all.dealt ? job->current % machines : job->current / all.ranks_of_machine;
}

/// MPI_COMM_NULL for the color MPI_UNDEFINED.
MPI_Comm split(MPI_Comm from, int color, int key) {
    Communicator& communicator = ::communicator(from);
    const auto own = static_cast<std::size_t>(communicator.rank_of(job->current));
    const auto collective = join(communicator, "the making of a communicator", 0, Makes::handles);
    collective->keys.resize(communicator.members->size());
    collective->keys[own] = {color, key};
    if (arrive(communicator, collective)) {
        std::map<int, Members> parts;
        std::map<int, int> last_key;
        for (std::size_t i = 0; i < collective->keys.size(); ++i) {
            const auto [its_color, its_key] = collective->keys[i];
            if (its_color == MPI_UNDEFINED) continue;
            if (!parts[its_color].empty() && its_key < last_key[its_color])
                fail("a split that does not keep the order of ranks");
            last_key[its_color] = its_key;
            parts[its_color].push_back((*communicator.members)[i]);
        }
        std::map<int, std::size_t> made;
        for (auto& [one, members] : parts)
            made[one] = add_communicator(std::make_shared<const Members>(std::move(members)));
        for (std::size_t i = 0; i < collective->keys.size(); ++i)
            if (collective->keys[i].first != MPI_UNDEFINED) collective->made[i] = made[collective->keys[i].first];
    }
    block_in(*collective);
    return color == MPI_UNDEFINED ? MPI_COMM_NULL : handle_of<MPI_Comm>(collective->made[own]);
}

/// `memory`: of this rank; null where the window allocates it, all parts one after the other.
MPI_Win make_window(MPI_Comm on, void* memory, MPI_Aint size) {
    Communicator& communicator = ::communicator(on);
    const auto own = static_cast<std::size_t>(communicator.rank_of(job->current));
    const auto collective = join(communicator, "the making of a window", 0, Makes::handles);
    if (collective->arrived == 0) {
        auto made = std::make_unique<MemoryWindow>();
        made->communicator = communicator_number(on);
        made->bases.resize(communicator.members->size());
        made->sizes.resize(communicator.members->size());
        job->windows.push_back(std::move(made));
        std::ranges::fill(collective->made, job->windows.size() - 1);
    }
    MemoryWindow& window = *job->windows[collective->made[own]];
    window.bases[own] = static_cast<std::byte*>(memory);
    window.sizes[own] = size;
    if (arrive(communicator, collective) && memory == nullptr) {
        MPI_Aint all = 0;
        for (const MPI_Aint one : window.sizes) all += one;
        constexpr std::size_t page = 4096;
        window.memory =
            static_cast<std::byte*>(std::aligned_alloc(page, (static_cast<std::size_t>(all) + page) / page * page));
        MPI_Aint at = 0;
        for (std::size_t i = 0; i < window.bases.size(); ++i) {
            window.bases[i] = window.memory + at;
            at += window.sizes[i];
        }
    }
    block_in(*collective);
    return handle_of<MPI_Win>(collective->made[own]);
}

[[nodiscard]] bool complete(const Request& request) {
    return request.collective != nullptr ? request.collective->complete_at <= job->step : request.done;
}

/// Of a request that is complete.
void finish(MPI_Request& handle, MPI_Status* status) {
    Rank& self = job->self();
    const std::size_t number = number_of(handle);
    Request& request = self.requests[number];
    if (request.collective != nullptr) give(*request.collective, request.result);
    if (request.done) --self.to_tell;
    self.told = true;
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = request.from;
        status->MPI_TAG = request.bytes; // what MPI_Get_count reads below
        status->MPI_ERROR = MPI_SUCCESS;
    }
    request = {};
    self.free_requests.push_back(number);
    handle = MPI_REQUEST_NULL;
}

} // namespace

// ---- the job --------------------------------------------------------------------------------------------------------

std::vector<test::Measured> test::run_simulated(const SimulatedMachines& machines,
                                                const std::function<void(int)>& program) {
    Job all;
    all.machines = machines;
    all.program = &program;
    const auto ranks = static_cast<std::size_t>(machines.ranks);
    all.ranks.resize(ranks);
    job = &all;
    Members everyone(ranks);
    for (std::size_t i = 0; i < ranks; ++i) everyone[i] = static_cast<int>(i);
    add_communicator(std::make_shared<const Members>(std::move(everyone)));
    void* const stacks =
        mmap(nullptr, ranks * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) fail("no memory for stacks");
    all.stacks = static_cast<std::byte*>(stacks);
    for (std::size_t i = 0; i < ranks; ++i) {
        make_fiber(all.ranks[i].context, all.stacks + i * stack_bytes);
        list(static_cast<int>(i));
    }
    simulate();
    munmap(stacks, ranks * stack_bytes);
    for (const auto& window : all.windows) std::free(window->memory);
    job = nullptr;
    return std::move(all.measured);
}

void test::measured(const char* name, const std::function<void()>& operation) {
    job->measuring = name;
    meet();
    operation();
    job->self().ended_at = job->step;
    meet();
}

// ---- what replaces the system's
// ------------------------------------------------------------------------

extern "C" {
/// What a wait of Lapwing's does between two looks.
int sched_yield() noexcept {
    if (job == nullptr || !job->in_fiber) return 0;
    Rank& self = job->self();
    if (std::exchange(self.told, false) && self.to_tell != 0) list(job->current); // and there is more
    suspend(Rank::State::waits);
    return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    if (job == nullptr || clock != CLOCK_MONOTONIC) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
    constexpr std::uint64_t second = 1'000'000;
    const std::uint64_t now = second + job->step + job->idle_us;
    time->tv_sec = static_cast<time_t>(now / second);
    time->tv_nsec = static_cast<long>(now % second * 1000);
    return 0;
}
}

namespace {

/// Lies before each block: how many bytes were asked for. malloc_usable_size() depends on what was freed before.
struct Before {
    std::size_t size = 0;
    std::size_t alignment = 0;
};

/// Not inlined: compilers would find the allocation of a block and its release not to be of a kind.
[[gnu::noinline]] void* allocate(std::size_t size, std::size_t alignment) {
    if (account != nullptr) {
        account->memory += static_cast<std::int64_t>(size);
        account->most_memory = std::max(account->most_memory, account->memory);
    }
    // Of TeamState's calibration nobody reads or writes anything here: all ranks may have the same.
    if (account != nullptr && size == lapwing::detail::team::TeamState::calibration_bytes &&
        alignment == lapwing::detail::support::buffer_alignment)
        return job->calibration.get();
    const std::size_t unit = std::max(alignment, sizeof(Before));
    void* const block = std::aligned_alloc(unit, unit + (size + unit - 1) / unit * unit);
    if (block == nullptr) throw std::bad_alloc{};
    std::byte* const memory = static_cast<std::byte*>(block) + unit;
    const Before before{size, unit};
    std::memcpy(memory - sizeof before, &before, sizeof before);
    return memory;
}

[[gnu::noinline]] void release(void* memory) noexcept {
    if (memory == nullptr) return;
    Before before{lapwing::detail::team::TeamState::calibration_bytes, 0};
    const bool calibration = job != nullptr && memory == job->calibration.get();
    if (!calibration) std::memcpy(&before, static_cast<std::byte*>(memory) - sizeof before, sizeof before);
    if (account != nullptr) account->memory -= static_cast<std::int64_t>(before.size);
    if (!calibration) std::free(static_cast<std::byte*>(memory) - before.alignment);
}

} // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

// ---- progress threads -----------------------------------------------------------------------------------------------

namespace lapwing::detail::messages {

ProgressThread& ProgressThread::instance() {
    static ProgressThread* const thread = new ProgressThread;
    return *thread;
}
void ProgressThread::add(Progressing& team, const Options&) { job->self().thread = &team; }
void ProgressThread::remove(Progressing&) { job->self().thread = nullptr; }
bool ProgressThread::serve_in_turn(const Progressing&) noexcept { return false; }
void ProgressThread::stop() {}
/// The others go on meanwhile, and run the more often the longer it is.
void ProgressThread::sleep_outside_mpi(std::chrono::microseconds time, std::int64_t* asleep) {
    if (asleep != nullptr) *asleep = 1;
    for (std::int64_t i = 0; i < time.count(); i += 50) let_others_run();
    if (asleep != nullptr) *asleep = 0;
}

} // namespace lapwing::detail::messages

// ---- MPI ------------------------------------------------------------------------------------------------------------

extern "C" {

int MPI_Initialized(int* flag) {
    *flag = 1;
    return MPI_SUCCESS;
}
int MPI_Finalized(int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}
int MPI_Query_thread(int* provided) {
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

// Communicators.
int MPI_Comm_test_inter(MPI_Comm, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm on, int* rank) {
    *rank = communicator(on).rank_of(job->current);
    return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm on, int* size) {
    *size = communicator(on).size();
    return MPI_SUCCESS;
}
int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) { return MPI_SUCCESS; }
int MPI_Comm_get_attr(MPI_Comm, int, void* value, int* found) {
    static int largest_tag = 0x7fffff;
    *static_cast<int**>(value) = &largest_tag;
    *found = 1;
    return MPI_SUCCESS;
}
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int* key, void*) {
    *key = 1;
    return MPI_SUCCESS;
}
int MPI_Comm_free_keyval(int*) { return MPI_SUCCESS; }
int MPI_Comm_set_attr(MPI_Comm, int, void*) { return MPI_SUCCESS; }
int MPI_Comm_dup(MPI_Comm from, MPI_Comm* made) {
    const Outside outside;
    *made = split(from, 0, 0);
    return MPI_SUCCESS;
}
int MPI_Comm_split(MPI_Comm from, int color, int key, MPI_Comm* made) {
    const Outside outside;
    *made = split(from, color, key);
    return MPI_SUCCESS;
}
int MPI_Comm_split_type(MPI_Comm from, int, int key, MPI_Info, MPI_Comm* made) {
    const Outside outside;
    *made = split(from, current_machine(), key);
    return MPI_SUCCESS;
}
/// Machines have names of their own.
extern "C" int gethostname(char* name, std::size_t bytes) noexcept {
    std::snprintf(name, bytes, "machine-%d", job == nullptr ? 0 : current_machine());
    return 0;
}
int MPI_Comm_free(MPI_Comm* handle) {
    *handle = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
int MPI_Comm_group(MPI_Comm of, MPI_Group* group) {
    *group = handle_of<MPI_Group>(communicator_number(of));
    return MPI_SUCCESS;
}
int MPI_Group_free(MPI_Group* group) {
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
int MPI_Group_translate_ranks(MPI_Group from, int count, const int ranks[], MPI_Group to, int translated[]) {
    for (int i = 0; i < count; ++i)
        translated[i] = job->communicators[number_of(to)]->rank_of(
            (*job->communicators[number_of(from)]->members)[static_cast<std::size_t>(ranks[i])]);
    return MPI_SUCCESS;
}

// Collective calls.
int MPI_Barrier(MPI_Comm on) {
    const Outside outside;
    const auto collective = join(communicator(on), "MPI_Barrier", 0);
    arrive(communicator(on), collective);
    block_in(*collective);
    return MPI_SUCCESS;
}
int MPI_Ibarrier(MPI_Comm on, MPI_Request* request) {
    const Outside outside;
    auto collective = join(communicator(on), "MPI_Ibarrier", 0);
    arrive(communicator(on), collective);
    *request = start(std::move(collective), nullptr);
    return MPI_SUCCESS;
}
int MPI_Reduce_local(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation) {
    combine(static_cast<std::byte*>(to), from, count, type, operation);
    return MPI_SUCCESS;
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm on) {
    const Outside outside;
    const auto collective = reduce(from, to, count, type, operation, on, "MPI_Allreduce");
    block_in(*collective);
    give(*collective, to);
    return MPI_SUCCESS;
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm on,
                   MPI_Request* request) {
    const Outside outside;
    *request = start(reduce(from, to, count, type, operation, on, "MPI_Iallreduce"), to);
    return MPI_SUCCESS;
}
int MPI_Bcast(void* memory, int count, MPI_Datatype type, int root, MPI_Comm on) {
    const Outside outside;
    const auto collective = broadcast(memory, count, type, root, on, "MPI_Bcast");
    block_in(*collective);
    give(*collective, memory);
    return MPI_SUCCESS;
}
int MPI_Ibcast(void* memory, int count, MPI_Datatype type, int root, MPI_Comm on, MPI_Request* request) {
    const Outside outside;
    *request = start(broadcast(memory, count, type, root, on, "MPI_Ibcast"), memory);
    return MPI_SUCCESS;
}
int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int, MPI_Datatype, MPI_Comm on) {
    const Outside outside;
    Communicator& communicator = ::communicator(on);
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
    const auto collective = join(communicator, "MPI_Allgather", bytes * communicator.members->size());
    collective->value.resize(bytes * communicator.members->size());
    std::memcpy(collective->value.data() + static_cast<std::size_t>(communicator.rank_of(job->current)) * bytes, from,
                bytes);
    arrive(communicator, collective);
    block_in(*collective);
    give(*collective, to);
    return MPI_SUCCESS;
}

// Messages.
int MPI_Isend(const void* memory, int count, MPI_Datatype type, int target, int tag, MPI_Comm on,
              MPI_Request* request) {
    const Outside outside;
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
    const auto* const begin = static_cast<const std::byte*>(memory);
    const Communicator& communicator = ::communicator(on);
    job->sent.push_back({communicator_number(on),
                         communicator.rank_of(job->current),
                         (*communicator.members)[static_cast<std::size_t>(target)],
                         tag,
                         {begin, begin + bytes}});
    ++job->self().spent.sent;
    job->self().spent.sent_bytes += bytes;
    const std::size_t number = take_request();
    job->self().requests[number].done = true;
    ++job->self().to_tell;
    *request = handle_of<MPI_Request>(number);
    return MPI_SUCCESS;
}
int MPI_Irecv(void* memory, int count, MPI_Datatype type, int source, int tag, MPI_Comm on, MPI_Request* request) {
    const Outside outside;
    Rank& self = job->self();
    const std::size_t number = take_request();
    self.receives.push_back({communicator_number(on), source, tag, static_cast<std::byte*>(memory),
                             static_cast<int>(static_cast<std::size_t>(count) * size_of(type)), number});
    *request = handle_of<MPI_Request>(number);
    const auto here = std::ranges::find_if(self.unread, [&](const Message& message) {
        return message.communicator == communicator_number(on) && message.tag == tag &&
               (source == MPI_ANY_SOURCE || source == message.from);
    });
    if (here == self.unread.end()) return MPI_SUCCESS;
    Message message = std::move(*here);
    self.unread.erase(here);
    self.unread_bytes -= message.bytes.size();
    deliver(std::move(message));
    return MPI_SUCCESS;
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    const Outside outside;
    *done = *request == MPI_REQUEST_NULL || complete(job->self().requests[number_of(*request)]) ? 1 : 0;
    if (*done != 0 && *request != MPI_REQUEST_NULL) finish(*request, status);
    return MPI_SUCCESS;
}
int MPI_Testall(int count, MPI_Request requests[], int* done, MPI_Status*) {
    const Outside outside;
    const std::span<MPI_Request> all{requests, static_cast<std::size_t>(count)};
    *done = std::ranges::all_of(all, [](MPI_Request request) {
        return request == MPI_REQUEST_NULL || complete(job->self().requests[number_of(request)]);
    });
    MPI_Status status;
    for (MPI_Request& request : all)
        if (*done != 0 && request != MPI_REQUEST_NULL) finish(request, &status);
    return MPI_SUCCESS;
}
int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in, int in_count,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm on, MPI_Status*) {
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Request received = MPI_REQUEST_NULL;
    if (to != MPI_PROC_NULL) MPI_Isend(out, out_count, out_type, to, out_tag, on, &sent);
    if (from != MPI_PROC_NULL) MPI_Irecv(in, in_count, in_type, from, in_tag, on, &received);
    for (MPI_Request* const request : {&sent, &received}) {
        MPI_Status status;
        int done = 0;
        while (MPI_Test(request, &done, &status) == MPI_SUCCESS && done == 0) suspend(Rank::State::waits);
    }
    return MPI_SUCCESS;
}
int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    const Outside outside;
    *done = 0;
    for (int i = 0; i < count; ++i) {
        if (!complete(job->self().requests[number_of(requests[i])])) continue;
        finish(requests[i], &statuses[*done]);
        indices[(*done)++] = i;
    }
    return MPI_SUCCESS;
}
int MPI_Get_count(const MPI_Status* status, MPI_Datatype, int* count) {
    *count = status->MPI_TAG;
    return MPI_SUCCESS;
}
int MPI_Cancel(MPI_Request* request) {
    std::erase_if(job->self().receives, [&](const Receive& receive) { return receive.request == number_of(*request); });
    return MPI_SUCCESS;
}
int MPI_Request_free(MPI_Request* request) {
    const Outside outside;
    job->self().requests[number_of(*request)].collective = nullptr;
    finish(*request, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

// There is no tools interface.
int MPI_T_init_thread(int, int*) { return MPI_ERR_OTHER; }

// Types.
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
    *lower = 0;
    *extent = static_cast<MPI_Aint>(size_of(type));
    return MPI_SUCCESS;
}
int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
    return MPI_Type_get_extent(type, lower, extent);
}

// Windows, as far as their creation goes.
int MPI_Info_create(MPI_Info* info) {
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
int MPI_Info_set(MPI_Info, const char*, const char*) { return MPI_SUCCESS; }
int MPI_Info_free(MPI_Info*) { return MPI_SUCCESS; }
int MPI_Win_allocate_shared(MPI_Aint size, int, MPI_Info, MPI_Comm on, void* base, MPI_Win* made) {
    const Outside outside;
    *made = make_window(on, nullptr, size);
    const auto own = static_cast<std::size_t>(communicator(on).rank_of(job->current));
    *static_cast<std::byte**>(base) = window(*made).bases[own];
    return MPI_SUCCESS;
}
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm on, void* base, MPI_Win* made) {
    return MPI_Win_allocate_shared(size, unit, info, on, base, made);
}
int MPI_Win_create(void* base, MPI_Aint size, int, MPI_Info, MPI_Comm on, MPI_Win* made) {
    const Outside outside;
    *made = make_window(on, base, size);
    return MPI_SUCCESS;
}
int MPI_Win_shared_query(MPI_Win of, int rank, MPI_Aint* size, int* unit, void* base) {
    const MemoryWindow& one = window(of);
    *size = one.sizes[static_cast<std::size_t>(rank)];
    *unit = 1;
    *static_cast<std::byte**>(base) = one.bases[static_cast<std::size_t>(rank)];
    return MPI_SUCCESS;
}
int MPI_Win_free(MPI_Win* handle) {
    const Outside outside;
    Communicator& on = *job->communicators[window(*handle).communicator];
    const auto collective = join(on, "MPI_Win_free", 0);
    arrive(on, collective);
    block_in(*collective);
    *handle = MPI_WIN_NULL;
    return MPI_SUCCESS;
}
int MPI_Win_get_attr(MPI_Win, int, void* value, int* found) {
    static int model = MPI_WIN_UNIFIED;
    *static_cast<int**>(value) = &model;
    *found = 1;
    return MPI_SUCCESS;
}
int MPI_Win_set_errhandler(MPI_Win, MPI_Errhandler) { return MPI_SUCCESS; }
int MPI_Win_lock(int, int, int, MPI_Win) { return MPI_SUCCESS; }
int MPI_Win_unlock(int, MPI_Win) { return MPI_SUCCESS; }
int MPI_Win_lock_all(int, MPI_Win) { return MPI_SUCCESS; }
int MPI_Win_unlock_all(MPI_Win) { return MPI_SUCCESS; }
int MPI_Win_sync(MPI_Win) { return MPI_SUCCESS; }
int MPI_Win_flush(int, MPI_Win) { return MPI_SUCCESS; }
int MPI_Win_flush_local(int, MPI_Win) { return MPI_SUCCESS; }
int MPI_Win_flush_all(MPI_Win) { return MPI_SUCCESS; }
int MPI_Put(const void* from, int count, MPI_Datatype type, int target, MPI_Aint at, int, MPI_Datatype, MPI_Win to) {
    std::memcpy(window(to).bases[static_cast<std::size_t>(target)] + at, from,
                static_cast<std::size_t>(count) * size_of(type));
    return MPI_SUCCESS;
}
int MPI_Get(void* to, int count, MPI_Datatype type, int target, MPI_Aint at, int, MPI_Datatype, MPI_Win from) {
    std::memcpy(to, window(from).bases[static_cast<std::size_t>(target)] + at,
                static_cast<std::size_t>(count) * size_of(type));
    return MPI_SUCCESS;
}
int MPI_Rput(const void* from, int count, MPI_Datatype type, int target, MPI_Aint at, int there,
             MPI_Datatype type_there, MPI_Win to, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return MPI_Put(from, count, type, target, at, there, type_there, to);
}
int MPI_Rget(void* to, int count, MPI_Datatype type, int target, MPI_Aint at, int there, MPI_Datatype type_there,
             MPI_Win from, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return MPI_Get(to, count, type, target, at, there, type_there, from);
}
/// Of requests of windows' operations, which are complete already.
int MPI_Waitall(int, MPI_Request*, MPI_Status*) { return MPI_SUCCESS; }
int MPI_Fetch_and_op(const void* operand, void* before, MPI_Datatype type, int target, MPI_Aint at, MPI_Op operation,
                     MPI_Win on) {
    for (unsigned k = 0; k < lapwing::detail::mpi::TrustedAtomics::operation_count; ++k)
        for (unsigned t = 0; t < lapwing::detail::mpi::TrustedAtomics::type_count; ++t) {
            const auto of{static_cast<lapwing::detail::mpi::AtomicOperation>(k)};
            const auto atomic{static_cast<lapwing::detail::mpi::AtomicType>(t)};
            if (lapwing::detail::mpi::mpi_operation(of) != operation || lapwing::detail::mpi::mpi_type(atomic) != type)
                continue;
            lapwing::detail::mpi::processor_fetch(of, atomic, window(on).bases[static_cast<std::size_t>(target)] + at,
                                                  operand, before);
            return MPI_SUCCESS;
        }
    return MPI_ERR_OP;
}
int MPI_Accumulate(const void* operand, int, MPI_Datatype type, int target, MPI_Aint at, int, MPI_Datatype,
                   MPI_Op operation, MPI_Win on) {
    std::int64_t before = 0;
    return MPI_Fetch_and_op(operand, &before, type, target, at, operation, on);
}
int MPI_Compare_and_swap(const void* desired, const void* expected, void* before, MPI_Datatype type, int target,
                         MPI_Aint at, MPI_Win on) {
    const bool wide = type == MPI_INT64_T || type == MPI_UINT64_T;
    lapwing::detail::mpi::processor_compare_swap(
        wide ? lapwing::detail::mpi::AtomicType::uint64 : lapwing::detail::mpi::AtomicType::uint32,
        window(on).bases[static_cast<std::size_t>(target)] + at, expected, desired, before);
    return MPI_SUCCESS;
}
}

/// There are no threads here.
int lapwing::detail::mpi::abandoned_calls() noexcept { return 0; }

bool lapwing::detail::mpi::ends_within(std::chrono::milliseconds, std::function<void()> work) {
    const std::function<void()> now = std::move(work);
    now();
    return true;
}
std::optional<std::thread> lapwing::detail::mpi::started_thread(std::function<void()> work) {
    work = nullptr;
    return std::nullopt;
}
