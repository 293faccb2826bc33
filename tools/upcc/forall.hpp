#pragma once

#include "clang.hpp"

namespace upcc {

/// What the pre-pass makes of upc_forall (a; b; c; d): for (a; b; c, (marker, (d))).
[[nodiscard]] bool is_forall(const clang::ForStmt* loop);
/// c, or null.
[[nodiscard]] const clang::Expr* forall_step(const clang::ForStmt* loop);
/// d; null if it is missing or `continue`.
[[nodiscard]] const clang::Expr* forall_affinity(const clang::ForStmt* loop);

} // namespace upcc
