#pragma once

#include "src/team/barrier.hpp"

#include <lapwing/upc.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace lapwing::detail::team {
struct CallArguments;
class Synchronisation;
} // namespace lapwing::detail::team

namespace lapwing::upc {

/// What a thread passed to a collective call.
class CollectiveArguments {
public:
    /// `call` is of static storage.
    CollectiveArguments(const char* call, int flags, std::initializer_list<lapwing_upc_pointer> objects,
                        std::initializer_list<std::size_t> sizes);

    [[nodiscard]] const char* call() const noexcept { return call_; }
    /// The flags, three for each object, and the sizes.
    [[nodiscard]] const std::vector<std::int64_t>& numbers() const noexcept { return numbers_; }
    /// "flags 0x0, thread 1, address 0x1040, phase 0, sizes 8 to upc_all_gather".
    [[nodiscard]] std::string text() const;

private:
    const char* call_;
    std::vector<std::int64_t> numbers_;
    std::size_t objects_;
};

/// A thread's collective calls whose arguments the threads have not compared yet. The next barrier carries a hash of
/// them, so that calls which wait for no other thread need no message for it.
class UncomparedCalls {
public:
    void add(CollectiveArguments arguments);
    /// Their hash; none if there are none.
    [[nodiscard]] std::optional<std::int64_t> number() const noexcept;
    /// As a barrier compares them. `start`: which thread is in which call. Refers to this object.
    [[nodiscard]] lapwing::detail::team::CallArguments arguments(std::function<std::string()> start) const;
    /// Collective: a barrier in which the threads that have some compare them; then there are none. Throws
    /// MismatchError on all threads if they differ.
    void compare(lapwing::detail::team::Synchronisation& synchronisation, lapwing::detail::team::CollectiveCall call,
                 std::optional<std::int64_t> identity, std::function<std::string()> start);

private:
    [[nodiscard]] std::string text() const;

    static constexpr std::size_t most_texts = 4; ///< so that they need little memory however many calls there are
    std::uint64_t count_ = 0;
    std::uint64_t hash_ = 0;
    std::vector<CollectiveArguments> last_; ///< for a message
};

} // namespace lapwing::upc
