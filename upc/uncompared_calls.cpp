#include "upc/uncompared_calls.hpp"

#include "src/support/hash.hpp"
#include "src/team/synchronisation.hpp"
#include "upc/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace lapwing::upc {

CollectiveArguments::CollectiveArguments(const char* call, int flags,
                                         std::initializer_list<lapwing_upc_pointer> objects,
                                         std::initializer_list<std::size_t> sizes)
    : call_{call}, numbers_{flags}, objects_{objects.size()} {
    for (const lapwing_upc_pointer& object : objects)
        for (const std::uint64_t number : {object.address, std::uint64_t{object.thread}, std::uint64_t{object.phase}})
            numbers_.push_back(static_cast<std::int64_t>(number));
    for (const std::size_t size : sizes) numbers_.push_back(static_cast<std::int64_t>(size));
}

std::string CollectiveArguments::text() const {
    auto number = numbers_.begin();
    std::string words = fmt::format("flags {:#x}", *number++);
    for (std::size_t k = 0; k < objects_; ++k, number += 3)
        words += ", " + upc::text({static_cast<std::uint64_t>(number[0]), static_cast<std::uint32_t>(number[1]),
                                   static_cast<std::uint32_t>(number[2])});
    return fmt::format("{}, sizes {} to {}", words, fmt::join(number, numbers_.end(), ", "), call_);
}

void UncomparedCalls::add(CollectiveArguments arguments) {
    using lapwing::detail::support::hash_of;
    const std::array<std::uint64_t, 3> all{hash_, hash_of(std::as_bytes(std::span{std::string_view{arguments.call()}})),
                                           hash_of(std::as_bytes(std::span{arguments.numbers()}))};
    hash_ = hash_of(std::as_bytes(std::span{all}));
    ++count_;
    if (last_.size() == most_texts) last_.erase(last_.begin());
    last_.push_back(std::move(arguments));
}

std::optional<std::int64_t> UncomparedCalls::number() const noexcept {
    if (count_ == 0) return {};
    return static_cast<std::int64_t>(hash_);
}

std::string UncomparedCalls::text() const {
    std::vector<std::string> texts;
    if (count_ > last_.size()) texts.push_back(fmt::format("the arguments of {} earlier calls", count_ - last_.size()));
    for (const CollectiveArguments& one : last_) texts.push_back(one.text());
    return fmt::format("{}", fmt::join(texts, ", then "));
}

lapwing::detail::team::CallArguments UncomparedCalls::arguments(std::function<std::string()> start) const {
    return {.number = number().value_or(0),
            .text = [this] { return text(); },
            .start = std::move(start),
            .remedy = "pass the same on all threads"};
}

void UncomparedCalls::compare(lapwing::detail::team::Synchronisation& synchronisation,
                              lapwing::detail::team::CollectiveCall call, std::optional<std::int64_t> identity,
                              std::function<std::string()> start) {
    const UncomparedCalls calls = std::exchange(*this, {});
    synchronisation.barrier(call, identity, calls.arguments(std::move(start)));
}

} // namespace lapwing::upc
