// Copies that count what a window notifies them of.
#pragma once

#include "window/coherent_copies.hpp"
#include "window/window_state.hpp"

#include <lapwing/layout.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace test {

/// Of the writes of this rank that a window notifies copies of, their number.
class CopyCounter final : public lapwing::detail::window::CoherentCopies {
public:
    explicit CopyCounter(lapwing::Window& window) : window_{window.state()} { window_.order().copies().add(*this); }
    ~CopyCounter() override { window_.order().copies().remove(*this); }
    CopyCounter(const CopyCounter&) = delete;
    CopyCounter& operator=(const CopyCounter&) = delete;

    [[nodiscard]] int written() const noexcept { return written_; }

    void acquired() noexcept override {}
    void written(lapwing::Rank /*target*/, lapwing::Offset /*offset*/, std::span<const std::byte> /*bytes*/) override {
        ++written_;
    }
    void written(lapwing::Rank /*target*/, const lapwing::Layout& /*there*/, const lapwing::Layout& /*here*/,
                 const std::byte* /*base*/) override {
        ++written_;
    }
    void atomic_sent(lapwing::Rank /*target*/, lapwing::Offset /*offset*/,
                     lapwing::detail::mpi::AtomicOperation /*operation*/, lapwing::detail::mpi::AtomicType /*type*/,
                     const void* /*operand*/, std::uint64_t /*mark*/) override {
        ++written_;
    }
    void invalidated(lapwing::Rank /*target*/, lapwing::Offset /*offset*/, std::uint64_t /*bytes*/) override {
        ++written_;
    }

private:
    lapwing::detail::window::WindowState& window_;
    int written_ = 0;
};

} // namespace test
