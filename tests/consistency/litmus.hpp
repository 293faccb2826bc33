#pragma once

#include "support/catch.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>

#include <cstdint>
#include <span>

namespace test {

/// With TEST_OMIT=1 litmus tests leave their synchronisation out, to show that they find what they look for.
inline bool omits() {
    static const bool omit = number_from_environment("TEST_OMIT", 0) != 0;
    return omit;
}

/// Carries out a step of synchronisation, unless the run shows what happens without it.
template <class Step>
void synchronise(Step&& step) {
    if (!omits()) step();
}

/// What a test reads is copied before: TEST_COPIES=1, automatic copies; TEST_COPIES=2, manual ones; TEST_COPIES=3, a
/// mapped array.
enum class CopiesRead : std::uint8_t { none, automatic, manual, mapped };

inline CopiesRead copies_read() {
    static const auto read = static_cast<CopiesRead>(number_from_environment("TEST_COPIES", 0));
    return read;
}

/// Whether a run without synchronisation finds the forbidden result for certain, or only when the ranks happen to meet.
enum class Shown { surely, by_chance };

/// Collective. The forbidden result was seen `count` times on this rank.
inline void judge(lapwing::Runtime& runtime, std::int64_t count, Shown shown = Shown::surely) {
    runtime.sum(std::span{&count, 1});
    if (!omits()) CHECK(count == 0);
    else if (shown == Shown::surely) CHECK(count > 0);
}

} // namespace test
