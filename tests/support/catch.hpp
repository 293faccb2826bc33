// Catch2 of either major version, by the names of version 2: all that a test includes of it.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <catch2/matchers/catch_matchers_templated.hpp>

#include <string>

// Version 3 has moved the matchers into a namespace of their own, where Contains is one of ranges.
namespace Catch {
using Matchers::EndsWith;
using Matchers::MatcherBase;
using Matchers::Matches;
using Matchers::StartsWith;
[[nodiscard]] inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }
} // namespace Catch
using Catch::Approx;

#else

#include <catch2/catch.hpp>

#endif
