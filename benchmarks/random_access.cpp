// random-access: the random updates of the HPC Challenge (GUPS), on a table in blocks over the ranks: atomics without a
// result through elements, compared with messages in buckets as the benchmark's MPI version has them, and beside one
// atomic at a time; the same buckets as lists of functions at the owners; and by notified puts, also beside one message
// to each rank. As an update is its own inverse, doing all of them twice must leave the table as it was: a table that
// is not ends the run.
#include "cached_array.hpp"
#include "irregular/exchange.hpp"

#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t words_each = std::int64_t{1} << 18; ///< of a rank: 2 MiB, more than most caches of a core
constexpr std::uint64_t updates_each = std::uint64_t{1} << 17;
constexpr std::uint64_t one_by_one_share = 64;
constexpr std::size_t bucket = 1024; ///< updates that a rank may look ahead: the benchmark's rule

using Table = GlobalArray<std::uint64_t, 1>;

/// The benchmark's random numbers, x^63 + x^2 + x + 1 over GF(2), from a start of each rank's own.
class RandomStream {
public:
    explicit RandomStream(int rank) : value_{scattered(static_cast<std::uint64_t>(rank) + 1) | 1} {}
    std::uint64_t next() {
        value_ = value_ << 1 ^ (value_ >> 63 != 0 ? 7 : 0);
        return value_;
    }

private:
    std::uint64_t value_;
};

/// Index i holds i after an even number of rounds.
void check(bool correct, const char* who) {
    if (!correct)
        throw std::runtime_error{
            fmt::format("random-access: {}: the table is wrong after all updates were done twice", who)};
}

/// Updates one element after the other by `update(element, value)`.
template <class Update>
[[nodiscard]] auto by_elements(Update update) {
    return [update](Table& table, RandomStream& random, std::uint64_t count) {
        const auto size = static_cast<std::uint64_t>(table.size());
        for (std::uint64_t k = 0; k < count; ++k) {
            const std::uint64_t value = random.next();
            update(table(value % size), value);
        }
    };
}

struct Xor {
    void operator()(std::uint64_t& word, std::uint64_t value) const { word ^= value; }
};

void update_by_lists(Table& table, RandomStream& random, std::uint64_t count) {
    const auto size = static_cast<std::uint64_t>(table.size());
    std::vector<std::uint64_t> values(bucket);
    std::vector<std::uint64_t> indices(bucket);
    for (std::uint64_t done = 0; done < count; done += bucket) {
        for (std::uint64_t& value : values) value = random.next();
        std::ranges::transform(values, indices.begin(), [size](std::uint64_t value) { return value % size; });
        table.post(indices, Xor{}, values);
    }
}

/// A table of Lapwing's, and how it is updated: `update(table, random, count)` does so many updates.
template <class Update>
class Updates {
public:
    Updates(Runtime& runtime, const char* name, std::uint64_t count, Update update)
        : runtime_{runtime},
          name_{name},
          count_{count},
          update_{update},
          table_{runtime, {words_each * runtime.size()}, Block{}} {
        std::uint64_t index = static_cast<std::uint64_t>(table_.local_domain().range(0).first());
        for (std::uint64_t& word : table_.local_span()) word = index++;
        runtime.barrier();
    }

    double run(std::uint64_t iterations) {
        rounds_ += iterations;
        return together(runtime_, [&] {
            for (std::uint64_t round = 0; round < iterations; ++round) {
                RandomStream random{runtime_.rank().value};
                update_(table_, random, count_);
            }
        });
    }
    /// Collective.
    void check_table() {
        if (rounds_ % 2 != 0) (void)run(1);
        runtime_.barrier();
        std::uint64_t index = static_cast<std::uint64_t>(table_.local_domain().range(0).first());
        std::int64_t wrong = 0;
        for (const std::uint64_t word : table_.local_span()) wrong += word != index++ ? 1 : 0;
        check(runtime_.sum(wrong) == 0, name_);
    }

private:
    Runtime& runtime_;
    const char* name_;
    std::uint64_t count_;
    Update update_;
    Table table_;
    std::uint64_t rounds_ = 0;
};

[[nodiscard]] std::size_t owner_of(std::uint64_t value, std::size_t ranks) {
    return static_cast<std::size_t>(value % (static_cast<std::uint64_t>(words_each) * ranks) /
                                    static_cast<std::uint64_t>(words_each));
}

/// The same with plain messages: what 1024 updates have for each rank is exchanged, and carried out by the owners.
class Buckets {
public:
    explicit Buckets(MPI_Comm world) : world_{world}, exchange_{world}, values_(bucket) {
        int size = 0;
        MPI_Comm_rank(world, &rank_);
        MPI_Comm_size(world, &size);
        ranks_ = static_cast<std::size_t>(size);
        table_.resize(static_cast<std::size_t>(words_each));
        first_ = static_cast<std::uint64_t>(words_each) * static_cast<std::uint64_t>(rank_);
        for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = first_ + i;
    }

    double run(std::uint64_t iterations) {
        rounds_ += iterations;
        return together(world_, [&] {
            for (std::uint64_t round = 0; round < iterations; ++round) {
                RandomStream random{rank_};
                for (std::uint64_t done = 0; done < updates_each; done += bucket) exchange(random);
            }
        });
    }
    void check_table() {
        if (rounds_ % 2 != 0) (void)run(1);
        int wrong = 0;
        for (std::size_t i = 0; i < table_.size(); ++i) wrong += table_[i] != first_ + i ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, world_);
        check(wrong == 0, "MPI_Alltoallv");
    }

private:
    void exchange(RandomStream& random) {
        for (std::uint64_t& value : values_) value = random.next();
        const auto incoming = exchange_([this](auto&& to) {
            for (const std::uint64_t value : values_) to(owner_of(value, ranks_), value);
        });
        const std::uint64_t size = static_cast<std::uint64_t>(words_each) * ranks_;
        for (const std::uint64_t value : incoming) table_[static_cast<std::size_t>(value % size - first_)] ^= value;
    }

    MPI_Comm world_;
    irregular::Exchange<std::uint64_t> exchange_;
    int rank_ = 0;
    std::size_t ranks_ = 1;
    std::uint64_t first_ = 0;
    std::uint64_t rounds_ = 0;
    std::vector<std::uint64_t> table_;
    std::vector<std::uint64_t> values_;
};

/// A rank's part of the table, and what it has for each rank in a turn: the updates after their number.
class BucketTable {
public:
    BucketTable(int rank, int ranks)
        : rank_{static_cast<std::size_t>(rank)}, outgoing_(static_cast<std::size_t>(ranks)) {
        table_.resize(static_cast<std::size_t>(words_each));
        first_ = static_cast<std::uint64_t>(words_each) * rank_;
        for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = first_ + i;
    }

    [[nodiscard]] std::size_t rank() const { return rank_; }
    [[nodiscard]] std::size_t ranks() const { return outgoing_.size(); }
    [[nodiscard]] std::span<const std::uint64_t> outgoing(std::size_t target) const { return outgoing_[target]; }

    /// All updates of some rounds; `exchange` moves what each turn has.
    template <class Exchange>
    void all_updates(std::uint64_t iterations, Exchange&& exchange) {
        rounds_ += iterations;
        for (std::uint64_t round = 0; round < iterations; ++round) {
            RandomStream random{static_cast<int>(rank_)};
            for (std::uint64_t done = 0; done < updates_each; done += bucket) {
                for (std::vector<std::uint64_t>& values : outgoing_) values.assign(1, 0);
                for (std::size_t k = 0; k < bucket; ++k) {
                    const std::uint64_t value = random.next();
                    outgoing_[owner_of(value, ranks())].push_back(value);
                }
                for (std::vector<std::uint64_t>& values : outgoing_) values.front() = values.size() - 1;
                exchange();
            }
        }
    }
    /// Carries out what one rank has sent, in the form of `outgoing()`.
    void update(std::span<const std::uint64_t> sent) {
        const std::uint64_t size = static_cast<std::uint64_t>(words_each) * ranks();
        for (const std::uint64_t value : sent.subspan(1, static_cast<std::size_t>(sent.front())))
            table_[static_cast<std::size_t>(value % size - first_)] ^= value;
    }
    [[nodiscard]] bool is_done_twice() const { return rounds_ % 2 == 0; }
    [[nodiscard]] std::int64_t wrong() const {
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < table_.size(); ++i) wrong += table_[i] != first_ + i ? 1 : 0;
        return wrong;
    }

private:
    std::size_t rank_;
    std::uint64_t first_ = 0;
    std::uint64_t rounds_ = 0;
    std::vector<std::uint64_t> table_;
    std::vector<std::vector<std::uint64_t>> outgoing_; ///< by owner
};

constexpr std::size_t place_words = 1 + bucket; ///< how many updates follow, and these

/// Buckets by one message to each rank, with receives that were posted before: without the exchange of counts that
/// MPI_Alltoallv needs, as programs that are tuned have them.
class MessageBuckets {
public:
    MessageBuckets(MPI_Comm world, int rank, int ranks)
        : world_{world}, table_{rank, ranks}, incoming_(static_cast<std::size_t>(ranks) * place_words) {}

    double run(std::uint64_t iterations) {
        return together(world_, [&] { table_.all_updates(iterations, [this] { exchange(); }); });
    }
    void check_table() {
        if (!table_.is_done_twice()) (void)run(1);
        std::int64_t wrong = table_.wrong();
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, world_);
        check(wrong == 0, "messages");
    }

private:
    void exchange() {
        requests_.clear();
        for (std::size_t step = 1; step < table_.ranks(); ++step) {
            const std::size_t origin = (table_.rank() + table_.ranks() - step) % table_.ranks();
            MPI_Irecv(&incoming_[origin * place_words], static_cast<int>(place_words), MPI_UINT64_T,
                      static_cast<int>(origin), 0, world_, &requests_.emplace_back());
        }
        for (std::size_t step = 1; step < table_.ranks(); ++step) {
            const std::size_t target = (table_.rank() + step) % table_.ranks();
            const std::span<const std::uint64_t> values = table_.outgoing(target);
            MPI_Isend(values.data(), static_cast<int>(values.size()), MPI_UINT64_T, static_cast<int>(target), 0, world_,
                      &requests_.emplace_back());
        }
        table_.update(table_.outgoing(table_.rank()));
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        for (std::size_t origin = 0; origin < table_.ranks(); ++origin)
            if (origin != table_.rank()) table_.update(std::span{incoming_}.subspan(origin * place_words, place_words));
    }

    MPI_Comm world_;
    BucketTable table_;
    std::vector<std::uint64_t> incoming_;
    std::vector<MPI_Request> requests_;
};

/// The same buckets by notified puts: what a rank has for another goes to a place there that no other rank writes to.
/// There are two of these places, in turns: who begins a round has heard from all ranks in the one before, so that they
/// are done with that before it.
class NotifiedBuckets {
public:
    explicit NotifiedBuckets(Runtime& runtime)
        : runtime_{runtime},
          table_{runtime.rank().value, runtime.size()},
          window_{runtime, 2 * table_.ranks() * place_words * sizeof(std::uint64_t)} {}

    double run(std::uint64_t iterations) {
        return together(runtime_, [&] { table_.all_updates(iterations, [this] { exchange(); }); });
    }
    void check_table() {
        if (!table_.is_done_twice()) (void)run(1);
        check(runtime_.sum(table_.wrong()) == 0, "notified puts");
        window_.close();
    }

private:
    [[nodiscard]] std::size_t place(std::size_t origin) const {
        return (turn_ * table_.ranks() + origin) * place_words;
    }
    void exchange() {
        const std::size_t ranks = table_.ranks();
        for (std::size_t step = 1; step < ranks; ++step) {
            const std::size_t target = (table_.rank() + step) % ranks;
            window_.put_notify(Rank{static_cast<int>(target)}, Offset{place(table_.rank()) * sizeof(std::uint64_t)},
                               table_.outgoing(target), turn_);
        }
        table_.update(table_.outgoing(table_.rank()));
        if (ranks > 1) window_.wait_notified(turn_, ranks - 1);
        const std::span<const std::uint64_t> incoming = window_.local_as<std::uint64_t>();
        for (std::size_t origin = 0; origin < ranks; ++origin)
            if (origin != table_.rank()) table_.update(incoming.subspan(place(origin), place_words));
        turn_ = 1 - turn_;
    }

    Runtime& runtime_;
    BucketTable table_;
    unsigned turn_ = 0;
    Window window_;
};

void random_access(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    {
        Updates gathered{runtime, "bit_xor", updates_each, by_elements([](const auto& element, std::uint64_t value) {
                             element.atomic().bit_xor(value);
                         })};
        Updates one_by_one{
            runtime, "fetch_xor", updates_each / one_by_one_share,
            by_elements([](const auto& element, std::uint64_t value) { (void)element.atomic().fetch_xor(value); })};
        Updates lists{runtime, "lists", updates_each, update_by_lists};
        Buckets buckets{context.world()};
        MessageBuckets tuned{context.world(), runtime.rank().value, runtime.size()};
        NotifiedBuckets notified{runtime};
        const auto all = static_cast<double>(updates_each) * runtime.size();
        const Subject value{.name = "bit_xor",
                            .run = [&](std::uint64_t iterations) { return gathered.run(iterations); }};
        Subject messages{.name = "buckets of 1024 by MPI_Alltoallv",
                         .run = [&](std::uint64_t iterations) { return buckets.run(iterations); }};
        Subject single{.name = "fetch_xor one by one", .run = [&](std::uint64_t iterations) {
                           return static_cast<double>(one_by_one_share) * one_by_one.run(iterations);
                       }};
        single.case_suffix = ", one by one";
        Subject posted{.name = "buckets of 1024 by MPI_Irecv and MPI_Isend",
                       .run = [&](std::uint64_t iterations) { return tuned.run(iterations); }};
        posted.case_suffix = ", beside one message each";
        const Quantity rate{.metric = "updates", .unit = "GUP/s", .scale = all * 1e-9, .rate = true};
        context.compare(fmt::format("{} words a rank", words_each), rate, value, {messages, std::move(single)});
        context.compare(
            fmt::format("{} words a rank, functions on lists of 1024", words_each), rate,
            {.name = "GlobalArray::post", .run = [&](std::uint64_t iterations) { return lists.run(iterations); }},
            {messages});
        context.compare(
            fmt::format("{} words a rank, buckets by notified puts", words_each), rate,
            {.name = "put_notify", .run = [&](std::uint64_t iterations) { return notified.run(iterations); }},
            {std::move(messages), std::move(posted)});
        gathered.check_table();
        one_by_one.check_table();
        lists.check_table();
        buckets.check_table();
        tuned.check_table();
        notified.check_table();
    }
    runtime.close();
}

const Registration registration{
    {.name = "random-access",
     .summary = "random updates of the HPC Challenge (GUPS); fails unless the table is right",
     .run = random_access,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
