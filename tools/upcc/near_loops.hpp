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
};

class NearLoops {
public:
    explicit NearLoops(Types& types) : types_{types} {}

    /// No bases where it must stay as it is.
    [[nodiscard]] NearLoop find(const clang::ForStmt* loop, const clang::FunctionDecl* function,
                                const std::function<bool(const clang::Expr*)>& is_strict) const;
    /// The pointer, or the array, whose memory an lvalue is in; null if that may be of several threads.
    [[nodiscard]] const clang::Expr* base_of(const clang::Expr* lvalue) const;

private:
    [[nodiscard]] bool is_in_one_block(const clang::Expr* array) const;

    Types& types_;
};

} // namespace upcc
