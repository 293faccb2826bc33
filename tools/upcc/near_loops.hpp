#pragma once

#include "clang.hpp"
#include "types.hpp"

#include <functional>
#include <string>
#include <vector>

namespace upcc {

/// An innermost loop that accesses what pointers-to-shared point to which it leaves alone, and of which all is with one
/// thread: where that memory is near, all of these accesses are loads and stores.
struct NearLoop {
    std::vector<const clang::Expr*> bases; ///< pointers to indefinite blocks, and arrays within one block
    /// Local pointers to indefinite blocks that the loop only looks through and moves: `*p`, `p[i]`, `*p++`, `p += 2;`.
    std::vector<const clang::VarDecl*> walking;
};
/// The variable that `p++`, `++p`, `p--` and `--p` move; or null.
[[nodiscard]] const clang::VarDecl* moved_by_one(const clang::Expr* expression);

class NearLoops {
public:
    NearLoops(clang::ASTContext& context, Types& types) : context_{context}, types_{types} {}

    /// No bases where it must stay as it is.
    [[nodiscard]] NearLoop find(const clang::ForStmt* loop, const clang::FunctionDecl* function,
                                const std::function<bool(const clang::Expr*)>& is_strict) const;
    /// The pointer, or the array, whose memory an lvalue is in; null if that may be of several threads.
    [[nodiscard]] const clang::Expr* base_of(const clang::Expr* lvalue) const;

    /// Whether an element is known to be in its row, where that is within a block: programs also go on through the next
    /// rows, of other threads.
    [[nodiscard]] bool stays_in_row(const clang::Expr* lvalue, const clang::ForStmt* loop) const;

private:
    [[nodiscard]] bool is_in_one_block(const clang::Expr* array) const;
    /// Whether all that it points to is with one thread.
    [[nodiscard]] bool points_to_indefinite(clang::QualType pointer) const;

    clang::ASTContext& context_;
    Types& types_;
};

} // namespace upcc
