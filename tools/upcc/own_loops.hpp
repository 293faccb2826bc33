#pragma once

#include "clang.hpp"
#include "types.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace upcc {

/// A upc_forall whose iterations the calling thread can find without visiting the others: the index counts
/// up by one, and the affinity is that of row `index + shift` of an array, of which every `block` consecutive rows
/// belong to one thread.
struct OwnLoop {
    const clang::VarDecl* index = nullptr;
    std::int64_t shift = 0;
    std::uint64_t block = 1;
    const clang::Expr* end = nullptr;         ///< a bound that does not change
    bool inclusive = false;                   ///< the end is the last iteration
    const clang::VarDecl* pointer = nullptr;  ///< of the affinity expression, pointing to a row
    std::set<const clang::VarDecl*> unsteady; ///< what the loop may change, or declares
    bool globals_are_steady = false;          ///< nothing else can change them during the loop
};

/// Analyses upc_forall loops, and which of their accesses are to the calling thread's own elements.
class OwnLoops {
public:
    OwnLoops(clang::ASTContext& context, Types& types) : context_{context}, types_{types} {}

    /// nullopt if it must stay as it is; then `reason` says why.
    [[nodiscard]] std::optional<OwnLoop> find(const clang::ForStmt* loop, const clang::FunctionDecl* function,
                                              std::string& reason) const;
    /// The array of which the subscript is a local row, or the pointer to the first row of one; or null.
    [[nodiscard]] const clang::VarDecl* own_row(const clang::ArraySubscriptExpr* subscript, const OwnLoop& loop) const;

    /// The array, or a pointer that does not change in the loop, that an expression is; or null.
    [[nodiscard]] const clang::VarDecl* steady_rows(const clang::Expr* base, const OwnLoop& loop) const;

private:
    /// The number of consecutive rows of an array, by its first dimension, that belong to one thread; or of what a
    /// pointer steps over.
    [[nodiscard]] std::optional<std::uint64_t> block_of_rows(const clang::VarDecl* array) const;
    /// The number added to the index.
    [[nodiscard]] std::optional<std::int64_t> shift(const clang::Expr* expression, const clang::VarDecl* index) const;
    [[nodiscard]] std::optional<std::int64_t> constant(const clang::Expr* expression) const;
    [[nodiscard]] bool find_affinity(const clang::Expr* affinity, OwnLoop& loop) const;

    clang::ASTContext& context_;
    Types& types_;
};

} // namespace upcc
