// A hash map that is spread over all ranks.
#pragma once

#include <lapwing/global_array.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/team.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace example {

/// Element b of an array is the number of the first entry of a chain, which has all keys whose hash is b. The entries
/// are in vectors of the ranks that own the elements, and change only in functions that run there: these never run at
/// the same time, so they need no lock. A program has one such map.
class HashMap {
public:
    using Key = std::uint64_t;
    using Value = std::int64_t;
    struct Pair {
        Key key;
        Value value;
    };
    struct Found {
        Value value;
        std::int64_t there; ///< 0: there is no such key
    };

    /// Collective. `buckets`: about as many as there will be keys.
    HashMap(lapwing::Team& team, std::int64_t buckets) : heads_{team, {buckets}, lapwing::Cyclic{}} { clear(); }

    /// Local. The keys get these values, whether they are there already or not, when a later release returns.
    void insert(std::span<const Pair> pairs) { heads_.post(buckets_of(pairs), Insert{}, pairs); }
    /// Local. The values of the keys.
    void find(std::span<const Key> keys, std::span<Found> found) {
        heads_.apply(buckets_of(keys), Find{}, keys, found);
    }
    /// Local. The same for one key, which also may be changed.
    [[nodiscard]] Found find(Key key) { return heads_.apply(bucket_of(key), Find{}, key).get(); }
    void add(Key key, Value by) { heads_.post(bucket_of(key), Add{}, Pair{key, by}); }
    /// Collective.
    void clear() {
        heads_.fill(0);
        entries_.clear();
        heads_.barrier();
    }
    /// Of this rank.
    [[nodiscard]] static std::size_t entries() { return entries_.size(); }

private:
    struct Entry {
        Key key;
        Value value;
        std::uint32_t next; ///< as the element: 0 is none, k + 1 entry k
    };

    // These run at the owner of the element.
    [[nodiscard]] static Entry* look(std::uint32_t head, Key key) {
        for (std::uint32_t at = head; at != 0; at = entries_[at - 1].next)
            if (entries_[at - 1].key == key) return &entries_[at - 1];
        return nullptr;
    }
    [[nodiscard]] static Value& enter(std::uint32_t& head, Key key) {
        if (Entry* const entry = look(head, key)) return entry->value;
        entries_.push_back({key, 0, head});
        head = static_cast<std::uint32_t>(entries_.size());
        return entries_.back().value;
    }
    struct Insert {
        void operator()(std::uint32_t& head, const Pair& pair) const { enter(head, pair.key) = pair.value; }
    };
    struct Add {
        void operator()(std::uint32_t& head, const Pair& pair) const { enter(head, pair.key) += pair.value; }
    };
    struct Find {
        Found operator()(std::uint32_t& head, Key key) const {
            const Entry* const entry = look(head, key);
            return entry == nullptr ? Found{} : Found{entry->value, 1};
        }
    };

    [[nodiscard]] std::int64_t bucket_of(Key key) const {
        return static_cast<std::int64_t>(((key * 0x9e3779b97f4a7c15U) >> 20) %
                                         static_cast<std::uint64_t>(heads_.extent(0)));
    }
    [[nodiscard]] std::int64_t bucket_of(const Pair& pair) const { return bucket_of(pair.key); }
    template <class T>
    [[nodiscard]] std::vector<std::int64_t> buckets_of(std::span<const T> keys) const {
        std::vector<std::int64_t> buckets;
        buckets.reserve(keys.size());
        for (const T& key : keys) buckets.push_back(bucket_of(key));
        return buckets;
    }

    static inline std::vector<Entry> entries_;
    lapwing::GlobalArray<std::uint32_t, 1> heads_;
};

} // namespace example
