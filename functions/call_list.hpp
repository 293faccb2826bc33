#pragma once

#include "functions/messages.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace lapwing::detail::functions {

/// A RelayHead's message that is being filled.
class CallList {
public:
    /// Appends a call. Returns where its arguments are to be written, before anything else is appended.
    [[nodiscard]] std::byte* add(const RelayRun& kind, Rank target) {
        if (run_.count == 0 || !run_.is_like(kind)) {
            end_run();
            run_ = kind;
            run_.count = 0;
            run_at_ = message_.size();
            message_.resize(run_at_ + sizeof run_);
        }
        ++run_.count;
        ++count_;
        const std::size_t at = message_.size();
        message_.resize(at + sizeof target.value + kind.argument_bytes);
        std::memcpy(message_.data() + at, &target.value, sizeof target.value);
        return message_.data() + at + sizeof target.value;
    }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// With one more call.
    [[nodiscard]] std::size_t bytes_with(const RelayRun& kind) const noexcept {
        const bool same = run_.count != 0 && run_.is_like(kind);
        return message_.size() + (same ? 0 : sizeof run_) + sizeof(Rank::value) + kind.argument_bytes;
    }
    /// The message; it is empty afterwards. `head` lacks the count alone.
    [[nodiscard]] std::vector<std::byte> take(RelayHead head) {
        end_run();
        head.count = std::exchange(count_, 0);
        std::memcpy(message_.data(), &head, sizeof head);
        return std::exchange(message_, std::vector<std::byte>(sizeof(RelayHead)));
    }

private:
    void end_run() {
        if (run_.count != 0) std::memcpy(message_.data() + run_at_, &run_, sizeof run_);
        run_.count = 0;
    }

    std::vector<std::byte> message_ = std::vector<std::byte>(sizeof(RelayHead));
    RelayRun run_; ///< the last one; its count is not in the message yet
    std::size_t run_at_ = 0;
    std::uint32_t count_ = 0;
};

} // namespace lapwing::detail::functions
