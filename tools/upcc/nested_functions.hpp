#pragma once

#include "rewrites.hpp"
#include "token_list.hpp"

namespace upcc {

/// GNU C's functions in functions, which Clang does not know. `int f(int x) { return x + k; }` in a function becomes
///   int f(), lapwing_result_1; if (lapwing_upcc_nested(f)) { int x; { lapwing_upcc_return, lapwing_result_1 = (x + k);
///   } }
/// in the parse, where it sees the variables around it. The emitter makes a function at file scope of it.
void rewrite_nested_functions(const TokenList& tokens, Rewrites& rewrites);

inline constexpr const char* nested_prefix = "lapwing_nested_"; ///< of their names: a number and an underscore follow
inline constexpr const char* result_prefix = "lapwing_result_"; ///< of what their return statements assign to
inline constexpr const char* nested_marker = "lapwing_upcc_nested";
inline constexpr const char* return_marker = "lapwing_upcc_return";

} // namespace upcc
