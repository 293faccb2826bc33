#pragma once

#include "clang.hpp"
#include "types.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace upcc {

/// An innermost loop `for (…; i < end; i++)` that reads consecutive elements, each in every iteration: they can be read
/// in blocks before the iterations.
struct ReadLoop {
    const clang::VarDecl* index = nullptr;
    const clang::Expr* end = nullptr; ///< a bound that does not change
    bool inclusive = false;           ///< the end is the last iteration
    std::vector<const clang::ArraySubscriptExpr*> reads;
    std::set<const clang::VarDecl*> targets; ///< pointers-to-private that the loop stores through
};

class BlockReads {
public:
    BlockReads(clang::ASTContext& context, Types& types) : context_{context}, types_{types} {}

    /// No reads where it must stay as it is; then `reason` says why, if the loop reads shared objects at all.
    [[nodiscard]] ReadLoop find(const clang::ForStmt* loop, const clang::FunctionDecl* function,
                                const std::function<bool(const clang::Expr*)>& is_strict, std::string& reason) const;

private:
    clang::ASTContext& context_;
    Types& types_;
};

} // namespace upcc
