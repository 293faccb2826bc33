#pragma once

#include "parts.hpp"

#include <lapwing/cache_options.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/mapped_array.hpp>
#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

/// Arrays that are read and shared together, for each way of the program. All groups have the same calls:
///
/// - `Group{access, parts, arrays, reads}`, collective. `reads`: the numbers of the elements that this rank will read.
/// - `own(k)` is this rank's block of array k, to be written.
/// - `place(number)` is where readers find the element of a number, one of `reads`.
/// - `reader(k)(place)` is that element of array k, whoever owns it, as it was when it was last shared.
/// - `share()`, collective: from here on all ranks read what was written before. Nobody may write until all have read.
/// - `hint()` says that others' elements will be read soon, as share() does. Of use after another group was shared.
namespace lapwing::bench::applications::hydro {

/// Global arrays whose elements are read one by one.
class GlobalGroup {
public:
    struct Access {
        Runtime& runtime;
        CacheOptions cache = {};
        bool hints = false;    ///< says what will be read before it is
        bool prefetch = false; ///< share() fetches copies of all that the rank will read
        [[nodiscard]] int ranks() const { return runtime.size(); }
        [[nodiscard]] int rank() const { return runtime.rank().value; }
        void min(std::span<double> values) const { runtime.min(values); }
    };

    GlobalGroup(const Access& access, const Parts& parts, std::size_t arrays, std::vector<Number> reads);
    [[nodiscard]] std::span<double> own(std::size_t k) { return arrays_[k].local_span(); }
    [[nodiscard]] Number place(Number number) const { return number; }
    [[nodiscard]] auto reader(std::size_t k) const {
        return [&array = arrays_[k]](Number place) { return array(place); };
    }
    void hint() const;
    void share();

private:
    Runtime& runtime_;
    bool prefetch_;
    std::vector<Number> hints_; ///< what is read of others, if there are to be hints
    std::vector<GlobalArray<double, 1>> arrays_;
};

/// Mapped arrays, read as plain memory.
class MappedGroup {
public:
    struct Access {
        Runtime& runtime;
        [[nodiscard]] int ranks() const { return runtime.size(); }
        [[nodiscard]] int rank() const { return runtime.rank().value; }
        void min(std::span<double> values) const { runtime.min(values); }
    };

    MappedGroup(const Access& access, const Parts& parts, std::size_t arrays, std::vector<Number> reads);
    [[nodiscard]] std::span<double> own(std::size_t k) { return arrays_[k].local_span(); }
    [[nodiscard]] Number place(Number number) const { return number; }
    [[nodiscard]] auto reader(std::size_t k) const {
        return [values = mapped_[k].data()](Number place) { return values[place]; };
    }
    void hint() const {}
    void share();

private:
    Runtime& runtime_;
    std::vector<GlobalArray<double, 1>> arrays_;
    std::vector<MappedArray<double, 1>> mapped_;
};

/// Plain MPI: each rank's block, and after it copies of what it reads of others, which they send it, all arrays in one
/// message.
class MessageGroup {
public:
    struct Access {
        MPI_Comm world;
        [[nodiscard]] int ranks() const;
        [[nodiscard]] int rank() const;
        void min(std::span<double> values) const;
    };

    MessageGroup(const Access& access, const Parts& parts, std::size_t arrays, std::vector<Number> reads);
    [[nodiscard]] std::span<double> own(std::size_t k) {
        return std::span{arrays_[k]}.first(static_cast<std::size_t>(parts_.own()));
    }
    [[nodiscard]] Number place(Number number) const;
    [[nodiscard]] auto reader(std::size_t k) const {
        return [values = arrays_[k].data()](Number place) { return values[place]; };
    }
    void hint() const {}
    void share();

private:
    /// What goes to another rank, or comes from it.
    struct Message {
        int rank;
        std::vector<Number> places; ///< in each array, one array after another
        std::vector<double> values;
    };

    MPI_Comm world_;
    Parts parts_;
    std::vector<Number> copied_; ///< numbers of elements of others, in ascending order
    std::vector<std::vector<double>> arrays_;
    std::vector<Message> outgoing_;
    std::vector<Message> incoming_;
    std::vector<MPI_Request> requests_;
};

} // namespace lapwing::bench::applications::hydro
