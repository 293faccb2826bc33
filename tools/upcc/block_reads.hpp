#pragma once

#include "clang.hpp"
#include "optimisations.hpp"
#include "types.hpp"

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace upcc {

/// An innermost loop `for (…; i < end; i++)` that reads or writes consecutive elements, each in every iteration: they
/// can be read in blocks before the iterations, and written in blocks after them.
struct ReadLoop {
    const clang::VarDecl* index = nullptr;
    const clang::Expr* end = nullptr; ///< a bound that does not change
    bool inclusive = false;           ///< the end is the last iteration
    std::vector<const clang::ArraySubscriptExpr*> reads;
    std::vector<const clang::ArraySubscriptExpr*> writes;
    std::vector<const clang::Expr*> steady;   ///< read in every iteration, and the same in all of them
    std::vector<const clang::Expr*> repeated; ///< read several times in every iteration
    std::set<const clang::VarDecl*> targets;  ///< pointers-to-private that the loop stores through
};

/// Of one loop; as many are read as written. Each has a buffer of the running program.
inline constexpr std::size_t most_runs = 4;

class BlockReads {
public:
    BlockReads(clang::ASTContext& context, Types& types, Optimisations optimisations)
        : context_{context}, types_{types}, optimisations_{optimisations} {}

    /// Nothing to do where it must stay as it is; then `reason` says why, if the loop accesses shared objects at all.
    [[nodiscard]] ReadLoop find(const clang::ForStmt* loop, const clang::FunctionDecl* function,
                                const std::function<bool(const clang::Expr*)>& is_strict, std::string& reason) const;

private:
    [[nodiscard]] bool may_move(const clang::Expr* place) const;
    [[nodiscard]] bool in_runs(const clang::ArraySubscriptExpr* subscript) const;

    clang::ASTContext& context_;
    Types& types_;
    Optimisations optimisations_;
};

} // namespace upcc
