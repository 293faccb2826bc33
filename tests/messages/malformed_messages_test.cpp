// Invalid messages of another rank: an engine ignores them, reports them, touches no memory that it should not, and
// continues to serve.
// Rank 0 is the engine; rank 1 sends it packets of its own making, by MPI alone.
#include "messages/engine_job.hpp"
#include "src/messages/put_runs.hpp"
#include "src/messages/request_table.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace lapwing::detail::messages;
using test::Job;
using test::mentions;

constexpr std::uint64_t window = 3;
constexpr std::size_t part = 1U << 16;
constexpr std::size_t guard = 4096;
constexpr HandlerNumber marker{77};
constexpr std::uint64_t magic = 0x6c61707769676e67;

using Bytes = std::vector<std::byte>;

void append(Bytes& bytes, const void* from, std::size_t count) {
    const std::size_t before = bytes.size();
    bytes.resize(before + count);
    if (count != 0) std::memcpy(bytes.data() + before, from, count);
}

template <class T>
void append(Bytes& bytes, const T& value) {
    append(bytes, &value, sizeof value);
}

/// A request or a reply.
template <class Head>
Bytes message(const Head& head, const Bytes& payload) {
    Bytes bytes;
    append(bytes, head);
    append(bytes, payload.data(), payload.size());
    bytes.resize(padded(bytes.size()));
    return bytes;
}
Bytes request(const Request& head, const Bytes& payload = {}) { return message(head, payload); }
Bytes reply(const Reply& head, const Bytes& payload = {}) { return message(head, payload); }

Bytes packet(std::uint64_t acknowledged, const std::vector<Bytes>& parts) {
    Bytes bytes;
    append(bytes, PacketHeader{acknowledged});
    for (const Bytes& one : parts) append(bytes, one.data(), one.size());
    return bytes;
}

/// The payload of a put of one run, of 8 bytes of data whatever its entry says.
Bytes run_of(std::uint16_t gap, std::uint16_t bytes) {
    Bytes payload(8);
    append(payload, RunEntry{gap, bytes});
    return payload;
}

/// The memory of a window, with bytes around it that nobody may change.
class Guarded {
public:
    explicit Guarded(std::size_t bytes) : bytes_{bytes}, memory_(bytes + 2 * guard, std::byte{0xa5}) {
        std::fill_n(data(), bytes, std::byte{0});
    }
    [[nodiscard]] std::byte* data() { return memory_.data() + guard; }
    [[nodiscard]] bool intact() const {
        const auto is_guard = [](std::byte byte) { return byte == std::byte{0xa5}; };
        return std::all_of(memory_.begin(), memory_.begin() + guard, is_guard) &&
               std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(guard + bytes_), memory_.end(), is_guard);
    }

private:
    std::size_t bytes_;
    Bytes memory_;
};

/// The rank that sends what it likes, and reads what comes back.
class Attacker {
public:
    explicit Attacker(MPI_Comm communicator) : communicator_{communicator} {}
    ~Attacker() {
        for (auto& [bytes, sent] : sending_) MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }

    void send(Bytes bytes, int tag) {
        sending_.emplace_back(std::move(bytes), MPI_REQUEST_NULL);
        auto& [kept, sent] = sending_.back();
        MPI_Isend(kept.data(), static_cast<int>(kept.size()), MPI_BYTE, 0, tag, communicator_, &sent);
    }
    /// Takes what has come: the requests of packets are kept, the rest is not.
    void drain() {
        for (;;) {
            int here = 0;
            MPI_Status status;
            MPI_Iprobe(0, MPI_ANY_TAG, communicator_, &here, &status);
            if (here == 0) break;
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            Bytes bytes(static_cast<std::size_t>(count));
            MPI_Recv(bytes.data(), count, MPI_BYTE, 0, status.MPI_TAG, communicator_, MPI_STATUS_IGNORE);
            if (status.MPI_TAG == request_tag) read_requests(bytes);
        }
        while (!sending_.empty()) {
            int done = 0;
            MPI_Test(&sending_.front().second, &done, MPI_STATUS_IGNORE);
            if (done == 0) break;
            sending_.pop_front();
        }
    }
    /// Sends a call that tells rank 0 what has been sent, and waits until it says that it has come.
    void finish(std::uint64_t round) {
        Bytes payload;
        append(payload, magic);
        append(payload, round);
        send(packet(
                 0,
                 {request({.kind = RequestKind::remote_call, .handler = static_cast<std::uint32_t>(marker), .size = 16},
                          payload)}),
             request_tag);
        wait_for_word();
    }
    void wait_for_word() {
        MPI_Request word = MPI_REQUEST_NULL;
        MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &word);
        for (int here = 0; here == 0; MPI_Test(&word, &here, MPI_STATUS_IGNORE)) drain();
    }
    [[nodiscard]] std::vector<Request> take_requests() { return std::exchange(requests_, {}); }
    /// Packets that rank 0 has sent.
    [[nodiscard]] std::uint64_t packets() const { return packets_; }

private:
    void read_requests(const Bytes& bytes) {
        ++packets_;
        std::span<const std::byte> rest{bytes};
        rest = rest.subspan(sizeof(PacketHeader));
        while (!rest.empty()) {
            const ReadRequest next = read_request(rest);
            if (next.row == nullptr) return;
            requests_.push_back(next.head);
            rest = next.rest;
        }
    }

    MPI_Comm communicator_;
    std::deque<std::pair<Bytes, MPI_Request>> sending_;
    std::vector<Request> requests_;
    std::uint64_t packets_ = 0;
};

/// Rank 0: an engine with a window, which serves until a marker has come.
class Victim {
public:
    explicit Victim(Job& its_job) : job{its_job} {
        job.engine.expose(
            window,
            {.base = memory.data(), .bytes = part, .counters = counters.data(), .counter_count = counters.size()});
        job.engine.register_handler(marker, [this](int, std::span<const std::byte> bytes) {
            std::array<std::uint64_t, 2> words{};
            if (bytes.size() != sizeof words) return;
            std::memcpy(words.data(), bytes.data(), sizeof words);
            if (words[0] == magic) marked = words[1];
        });
    }
    void serve(std::uint64_t round) {
        job.until([&] { return marked == round; });
        tell();
    }
    /// Takes the data of puts that were ignored: MPI may give the next communicator the number of this one.
    void clean_up() {
        job.engine.withdraw_handler(marker);
        job.engine.stop();
        for (;;) {
            int here = 0;
            MPI_Status status;
            MPI_Iprobe(1, MPI_ANY_TAG, job.communicator(), &here, &status);
            if (here == 0) return;
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            Bytes bytes(static_cast<std::size_t>(count));
            MPI_Recv(bytes.data(), count, MPI_BYTE, 1, status.MPI_TAG, job.communicator(), MPI_STATUS_IGNORE);
        }
    }
    static void tell() { MPI_Send(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD); }

    Job& job;
    Guarded memory{part};
    std::array<std::atomic<std::uint64_t>, 4> counters{};
    std::uint64_t marked = std::numeric_limits<std::uint64_t>::max();
};

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_{seed} {}
    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
    bool chance(unsigned percent) { return below(100) < percent; }
    /// A number that is likely to be at an edge.
    std::uint64_t edgy(std::uint64_t limit) {
        switch (below(8)) {
        case 0: return limit;
        case 1: return limit + 1;
        case 2: return std::numeric_limits<std::uint64_t>::max() - below(16);
        case 3: return std::uint64_t{1} << below(64);
        default: return below(limit);
        }
    }
    Bytes bytes(std::size_t count) {
        Bytes bytes(count);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine_());
        return bytes;
    }

private:
    std::mt19937_64 engine_;
};

/// A request as an engine sends it, or nearly. `tag`: a number for bulk data that nobody has used.
Request random_head(Random& random, std::uint32_t tag) {
    Request head{.kind = static_cast<RequestKind>(random.below(static_cast<std::uint64_t>(RequestKind::end) + 1)),
                 .operation =
                     static_cast<lapwing::detail::mpi::AtomicOperation>(random.below(random.chance(90) ? 8 : 256)),
                 .type = static_cast<lapwing::detail::mpi::AtomicType>(random.below(random.chance(90) ? 6 : 256)),
                 .is_compare_swap = static_cast<std::uint8_t>(random.below(random.chance(90) ? 2 : 256)),
                 .counter_plus_one = static_cast<std::uint32_t>(random.chance(80) ? 0 : random.edgy(4)),
                 .tag = random.chance(90) ? tag : static_cast<std::uint32_t>(random.edgy(std::uint64_t{1} << 31)),
                 .handler = static_cast<std::uint32_t>(random.below(4)),
                 .window = random.chance(90) ? window : random.below(8),
                 .offset = random.chance(70) ? random.below(part / 8) * 8 : random.edgy(part),
                 .size = random.chance(70) ? random.below(400) * 8 : random.edgy(part),
                 .token = random.edgy(256)};
    return head;
}

/// Whether data of the sender's follows a request in a message of its own.
bool is_bulk_put(RequestKind kind) {
    return kind == RequestKind::bulk_put || kind == RequestKind::bulk_scatter || kind == RequestKind::bulk_call;
}

/// Sends one, with a payload that it may have, or another; the data of a bulk put follows it, mostly.
void send_request(Attacker& attacker, Random& random, std::vector<Bytes>& parts, std::uint32_t tag) {
    Request head = random_head(random, tag);
    std::size_t payload = random.below(64) * 8;
    if (const RequestRow* const row = row_of(head.kind); row != nullptr) {
        if (row->bytes_field != nullptr && random.chance(90)) head.*row->bytes_field = payload;
        else if (row->bytes_field == nullptr) payload = row->fixed_bytes;
    }
    const bool bulk_put = is_bulk_put(head.kind);
    // Without data, or with other data than was announced, a put would stay: MPI tells nobody that something is
    // missing.
    if (bulk_put) head.size = 8 + random.below(300) * 8;
    if (bulk_put && head.tag != tag) head.tag = std::numeric_limits<std::uint32_t>::max();
    if (head.kind == RequestKind::bulk_scatter) head.offset = random.below(head.size + 16);
    Bytes bytes = random.bytes(payload);
    if (head.kind == RequestKind::put_runs && payload >= sizeof(RunEntry) && random.chance(90)) {
        // One run that fits its data, or nearly.
        const RunEntry entry{static_cast<std::uint16_t>(random.below(4000)),
                             static_cast<std::uint16_t>(payload - sizeof entry - random.below(10) / 9)};
        head.tag = 1 + static_cast<std::uint32_t>(random.below(20) / 19);
        std::memcpy(bytes.data() + payload - sizeof entry, &entry, sizeof entry);
    }
    parts.push_back(request(head, bytes));
    if (bulk_put && head.tag == tag)
        attacker.send(random.bytes(random.chance(80) ? head.size : random.below(head.size)), bulk_put_tag(tag));
}

/// Changes bytes, or cuts the packet.
void damage(Random& random, Bytes& bytes) {
    if (random.chance(50) && !bytes.empty())
        for (std::uint64_t i = 0; i < 1 + random.below(3); ++i)
            bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
    else bytes.resize(random.below(bytes.size() + 1));
}

/// Whether damage could have made a bulk put of it, whose data nobody sends.
bool has_bulk_put(const Bytes& bytes) {
    if (bytes.size() < sizeof(PacketHeader)) return false;
    std::span<const std::byte> rest{bytes};
    rest = rest.subspan(sizeof(PacketHeader));
    while (!rest.empty()) {
        const ReadRequest next = read_request(rest);
        if (next.row == nullptr) return false;
        if (is_bulk_put(next.head.kind)) return true;
        rest = next.rest;
    }
    return false;
}

} // namespace

TEST_CASE("each invalid field of a request is reported, and the request ignored") {
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    using lapwing::detail::mpi::AtomicOperation;
    using lapwing::detail::mpi::AtomicType;
    const Bytes values(16);
    struct Case {
        std::string text;
        Bytes bytes;
    };
    const std::vector<Case> cases{
        {"announced 64 bytes",
         request({.kind = RequestKind::bulk_get, .tag = 0x7fffffff, .window = window, .size = 64})},
        {"announced 64 bytes",
         request({.kind = RequestKind::bulk_put, .tag = 0xffffffff, .window = window, .size = 64})},
        {"announced 0 bytes", request({.kind = RequestKind::bulk_put, .tag = 1, .window = window, .size = 0})},
        {"announced 0 bytes", request({.kind = RequestKind::bulk_get, .tag = 1, .window = window, .size = 0})},
        {"announced 2097152 bytes",
         request({.kind = RequestKind::bulk_scatter, .tag = 1, .window = window, .size = 2U << 20})},
        {"announced 64 bytes",
         request({.kind = RequestKind::bulk_scatter, .tag = 1, .window = window, .offset = 65, .size = 64})},
        {"announced 2097152 bytes",
         request({.kind = RequestKind::bulk_gather, .tag = 1, .window = window, .offset = 16, .size = 2U << 20},
                 values)},
        {"rank 1 asked for 9 bytes at offset 65528",
         request({.kind = RequestKind::get, .window = window, .offset = part - 8, .size = 9})},
        {"rank 1 asked for 8 bytes at offset",
         request({.kind = RequestKind::get, .window = window, .offset = most - 3, .size = 8})},
        {"of window 99, of which 0 are exposed",
         request({.kind = RequestKind::bulk_get, .tag = 1, .window = 99, .size = 8})},
        {"places outside of window",
         request({.kind = RequestKind::gather, .window = window, .offset = 16, .size = 8}, Bytes(16, std::byte{9}))},
        {"sent 1 runs in 12 bytes for window 3 from offset 65529",
         request({.kind = RequestKind::put_runs, .tag = 1, .window = window, .offset = part - 7, .size = 12},
                 run_of(0, 8))},
        {"leave the 65536 bytes that are exposed here",
         request({.kind = RequestKind::put_runs, .tag = 1, .window = window, .offset = part - 100, .size = 12},
                 run_of(93, 8))},
        {"sent 2 runs in 12 bytes",
         request({.kind = RequestKind::put_runs, .tag = 2, .window = window, .size = 12}, run_of(0, 8))},
        {"are not the bytes that the runs name",
         request({.kind = RequestKind::put_runs, .tag = 1, .window = window, .size = 12}, run_of(0, 7))},
        {"sent 1 runs in 12 bytes for window 99",
         request({.kind = RequestKind::put_runs, .tag = 1, .window = 99, .size = 12}, run_of(0, 8))},
        {"from offset 18446744073709551612",
         request({.kind = RequestKind::put_runs, .tag = 1, .window = window, .offset = most - 3, .size = 12},
                 run_of(0, 8))},
        {"notification counter 4 of window 3, which has 4",
         request({.kind = RequestKind::put, .counter_plus_one = 5, .window = window, .size = 16}, values)},
        {"an atomic that does not exist (atomic, operation 8",
         request({.kind = RequestKind::atomic, .operation = static_cast<AtomicOperation>(8), .window = window},
                 values)},
        {"type 6",
         request({.kind = RequestKind::atomic, .type = static_cast<AtomicType>(6), .window = window}, values)},
        {"operation 2, type 5", request({.kind = RequestKind::atomic,
                                         .operation = AtomicOperation::bit_or,
                                         .type = AtomicType::float64,
                                         .window = window},
                                        values)},
        {"compare_swap 2", request({.kind = RequestKind::atomic, .is_compare_swap = 2, .window = window}, values)},
        {"operation 0", request({.kind = RequestKind::wide_atomic, .window = window, .size = 16}, Bytes(32))},
        {"compare_swap 1", request({.kind = RequestKind::wide_atomic,
                                    .operation = AtomicOperation::read,
                                    .is_compare_swap = 1,
                                    .window = window,
                                    .size = 16},
                                   Bytes(32))},
        {"operation 4, type 2, compare_swap 1", request({.kind = RequestKind::wide_atomic,
                                                         .operation = AtomicOperation::min,
                                                         .type = AtomicType::int64,
                                                         .is_compare_swap = 1,
                                                         .window = window,
                                                         .size = 16},
                                                        Bytes(32))},
        {"operation 5, type 4", request({.kind = RequestKind::wide_atomic,
                                         .operation = AtomicOperation::max,
                                         .type = AtomicType::float32,
                                         .window = window,
                                         .size = 16},
                                        Bytes(32))},
        {"operation 4, type 6", request({.kind = RequestKind::wide_atomic,
                                         .operation = AtomicOperation::min,
                                         .type = static_cast<AtomicType>(6),
                                         .window = window,
                                         .size = 16},
                                        Bytes(32))},
        {"17 bytes of values",
         request(
             {.kind = RequestKind::wide_atomic, .operation = AtomicOperation::replace, .window = window, .size = 17},
             Bytes(32))},
        {"rank 1 asked for 16 bytes at offset 65528", request({.kind = RequestKind::wide_atomic,
                                                               .operation = AtomicOperation::read,
                                                               .window = window,
                                                               .offset = part - 8,
                                                               .size = 16},
                                                              Bytes(32))},
        {"8 bytes of values", request({.kind = RequestKind::atomics, .window = window, .size = 8}, Bytes(8))},
        {"8 bytes of values", request({.kind = RequestKind::adds, .window = window, .size = 8}, Bytes(8))},
        {"not aligned",
         request({.kind = RequestKind::atomic, .type = AtomicType::int64, .window = window, .offset = 4}, values)},
        {"a leave notice that makes no sense", request({.kind = RequestKind::peer_left, .offset = most})},
        {"a note of a wait that makes no sense", request({.kind = RequestKind::waiting}, Bytes(sizeof(WaitingNote)))},
    };
    for (const Case& one : cases) {
        INFO(one.text);
        Job job;
        if (test::world_rank() == 0) {
            Victim victim{job};
            test::world_barrier();
            victim.serve(1);
            REQUIRE(!job.listener.failures.empty());
            INFO(job.listener.failures.front());
            CHECK(mentions(job.listener.failures.front(), "rank 0 of 2"));
            CHECK(mentions(job.listener.failures.front(), one.text));
            CHECK(victim.memory.intact());
            test::world_barrier();
            victim.clean_up();
        } else {
            // Its own engine reads nothing: whatever comes is the attacker's.
            job.engine.stop();
            Attacker attacker{job.communicator()};
            test::world_barrier();
            attacker.send(packet(0, {one.bytes}), request_tag);
            attacker.finish(1);
            test::world_barrier();
        }
    }
}

TEST_CASE("a reply that is not what was asked for is reported, and writes nothing") {
    const std::uint64_t asked = 24;
    struct Case {
        const char* text;
        ReplyKind kind;
        std::uint64_t size;
        bool right_token;
    };
    const std::array cases{Case{"data, of 32 bytes", ReplyKind::data, asked + 8, true},
                           Case{"data, of 16 bytes", ReplyKind::data, asked - 8, true},
                           Case{"done, of 0 bytes", ReplyKind::done, 0, true},
                           Case{"data, of 24 bytes", ReplyKind::data, asked, false},
                           Case{"that are not valid replies", ReplyKind::acknowledgement, 0, true},
                           Case{"that are not valid replies", ReplyKind::dropped, 0, true},
                           Case{"that are not valid replies", static_cast<ReplyKind>(9), 8, true},
                           Case{"barrier, of 64 bytes", ReplyKind::barrier, sizeof(BarrierToken), true}};
    for (const Case& one : cases) {
        INFO(one.text << ", kind " << static_cast<int>(one.kind));
        Job job;
        if (test::world_rank() == 0) {
            test::world_barrier();
            Guarded destination{asked};
            Operation get;
            get.destination = destination.data();
            REQUIRE(job.engine.try_get(get, 1, window, 0, asked, true));
            job.until([&] { return !job.listener.failures.empty(); });
            INFO(job.listener.failures.front());
            CHECK(mentions(job.listener.failures.front(), one.text));
            CHECK(destination.intact());
            CHECK_FALSE(get.done());
            CHECK(std::all_of(destination.data(), destination.data() + asked,
                              [](std::byte byte) { return byte == std::byte{0}; }));
            Victim::tell();
            job.until([&] { return get.done(); }); // the right one
            CHECK(destination.data()[0] == std::byte{7});
            Victim::tell();
            test::world_barrier();
        } else {
            job.engine.stop();
            Attacker attacker{job.communicator()};
            test::world_barrier();
            std::vector<Request> requests;
            while (requests.empty()) {
                attacker.drain();
                requests = attacker.take_requests();
            }
            const std::uint64_t token = requests.front().token;
            const Bytes wrong =
                reply({.kind = one.kind, .token = one.right_token ? token : token + 1, .size = one.size},
                      Bytes(one.size, std::byte{9}));
            attacker.send(packet(0, {wrong}), reply_tag);
            attacker.wait_for_word();
            attacker.send(packet(1, {reply({.kind = ReplyKind::data, .token = token, .size = asked},
                                           Bytes(asked, std::byte{7}))}),
                          reply_tag);
            attacker.wait_for_word();
            test::world_barrier();
        }
    }
}

namespace {

/// Of requests in any order.
std::vector<Bytes> packets_of_requests(Attacker& attacker, Random& random, std::uint32_t& tag) {
    std::vector<Bytes> packets;
    for (std::uint64_t i = 0; i < 1 + random.below(8); ++i) {
        std::vector<Bytes> parts;
        for (std::uint64_t k = 0; k < 1 + random.below(6); ++k) send_request(attacker, random, parts, tag++);
        std::ranges::shuffle(parts,
                             std::minstd_rand{static_cast<std::minstd_rand::result_type>(random.below(1000) + 1)});
        packets.push_back(packet(random.below(3), parts));
    }
    return packets;
}

/// At least so many, which the victim sends.
std::vector<Request> take_requests(Attacker& attacker, std::size_t count) {
    std::vector<Request> requests;
    for (std::uint64_t told = 0; requests.size() < count;) {
        attacker.drain();
        for (const Request& one : attacker.take_requests()) requests.push_back(one);
        // Or the others never leave.
        if (std::exchange(told, attacker.packets()) != attacker.packets())
            attacker.send(packet(attacker.packets(), {}), reply_tag);
    }
    return requests;
}

/// To some of the requests, right or wrong.
std::vector<Bytes> packets_of_replies(const Attacker& attacker, Random& random, const std::vector<Request>& requests) {
    std::vector<Bytes> packets;
    for (std::uint64_t i = 0; i < 1 + random.below(6); ++i) {
        std::vector<Bytes> parts;
        for (std::uint64_t k = 0; k < 1 + random.below(4); ++k) {
            const Request& one = requests[random.below(requests.size())];
            const Reply head{.kind = static_cast<ReplyKind>(random.below(6)),
                             .token = random.chance(80) ? one.token : random.edgy(256),
                             .size = random.chance(70) ? one.size : random.edgy(400)};
            const bool whole = head.size < 2000 && random.chance(90);
            parts.push_back(reply(head, random.bytes(whole ? head.size : random.below(64))));
        }
        packets.push_back(packet(random.chance(80) ? attacker.packets() : random.edgy(200), parts));
    }
    return packets;
}

/// Gets whose answers make no sense; whether nothing is written beside their places.
bool get_nonsense(Job& job, Victim& victim, Random& random, std::uint64_t round, std::size_t gets) {
    std::deque<Guarded> places;
    std::vector<Operation> operations(gets);
    for (Operation& operation : operations) {
        const std::size_t bytes = 8 + random.below(40) * 8;
        operation.destination = places.emplace_back(bytes).data();
        job.until([&] { return job.engine.try_get(operation, 1, window, 0, bytes, true); });
    }
    victim.serve(round); // the packets that make no sense are here
    for (Operation& operation : operations) job.engine.abandon(operation);
    return std::ranges::all_of(places, [](const Guarded& place) { return place.intact(); });
}

} // namespace

TEST_CASE("packets of requests that are changed, cut, repeated and reordered do no harm") {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        INFO("seed " << seed);
        constexpr std::uint64_t rounds = 60;
        Job job;
        if (test::world_rank() == 0) {
            Victim victim{job};
            test::world_barrier();
            for (std::uint64_t round = 0; round < rounds; ++round) victim.serve(round);
            CHECK(victim.memory.intact());
            CHECK_FALSE(job.listener.failures.empty());
            // It serves on.
            std::fill_n(victim.memory.data(), 64, std::byte{0x5a});
            victim.serve(rounds);
            CHECK(std::all_of(victim.memory.data(), victim.memory.data() + 32,
                              [](std::byte byte) { return byte == std::byte{0x11}; }));
            CHECK(victim.memory.data()[32] == std::byte{0x5a});
            test::world_barrier();
            victim.clean_up();
        } else {
            job.engine.stop();
            Attacker attacker{job.communicator()};
            Random random{seed};
            test::world_barrier();
            std::uint32_t tag = 0;
            std::vector<Bytes> before;
            for (std::uint64_t round = 0; round < rounds; ++round) {
                std::vector<Bytes> packets = packets_of_requests(attacker, random, tag);
                if (!before.empty() && random.chance(50))
                    packets.push_back(before[random.below(before.size())]); // once more
                for (Bytes& one : packets) {
                    Bytes sent = one;
                    if (random.chance(40)) {
                        damage(random, sent);
                        if (has_bulk_put(sent)) sent = one;
                    }
                    if (!has_bulk_put(sent)) before.push_back(sent);
                    attacker.send(std::move(sent), request_tag);
                    attacker.drain();
                }
                attacker.finish(round);
            }
            attacker.send(packet(0, {request({.kind = RequestKind::put, .window = window, .size = 32},
                                             Bytes(32, std::byte{0x11}))}),
                          request_tag);
            attacker.finish(rounds);
            test::world_barrier();
        }
    }
}

TEST_CASE("packets of replies that are changed, cut, repeated and reordered do no harm") {
    constexpr std::size_t gets = 6;
    constexpr std::uint64_t rounds = 60;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        INFO("seed " << seed);
        Job job;
        if (test::world_rank() == 0) {
            Victim victim{job};
            Random random{seed + 100};
            test::world_barrier();
            std::size_t intact = 0;
            for (std::uint64_t round = 0; round < rounds; ++round)
                intact += get_nonsense(job, victim, random, round, gets) ? 1 : 0;
            CHECK(intact == rounds);
            CHECK_FALSE(job.listener.failures.empty());
            // One that is answered as it should be.
            Guarded place{64};
            Operation operation;
            operation.destination = place.data();
            job.until([&] { return job.engine.try_get(operation, 1, window, 0, 64, true); });
            job.until([&] { return operation.done(); });
            CHECK_FALSE(operation.dropped);
            CHECK(std::all_of(place.data(), place.data() + 64, [](std::byte byte) { return byte == std::byte{0x22}; }));
            victim.tell();
            test::world_barrier();
            victim.clean_up();
        } else {
            job.engine.stop();
            Attacker attacker{job.communicator()};
            Random random{seed};
            test::world_barrier();
            std::vector<Bytes> before;
            for (std::uint64_t round = 0; round < rounds; ++round) {
                const std::vector<Request> requests = take_requests(attacker, gets);
                std::vector<Bytes> packets = packets_of_replies(attacker, random, requests);
                if (!before.empty() && random.chance(50)) packets.push_back(before[random.below(before.size())]);
                for (Bytes& one : packets) {
                    if (random.chance(40)) damage(random, one);
                    if (one.size() > 8000) one.resize(8000);
                    before.push_back(one);
                    attacker.send(one, reply_tag);
                }
                attacker.finish(round);
            }
            std::vector<Request> requests;
            while (requests.empty()) {
                attacker.drain();
                requests = attacker.take_requests();
            }
            attacker.send(
                packet(attacker.packets(), {reply({.kind = ReplyKind::data, .token = requests.back().token, .size = 64},
                                                  Bytes(64, std::byte{0x22}))}),
                reply_tag);
            attacker.wait_for_word();
            test::world_barrier();
        }
    }
}
