#pragma once

#include "clang.hpp"
#include "loop_parts.hpp"
#include "optimisations.hpp"
#include "types.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace upcc {

/// An innermost loop `for (…; i < end; i++)`, or with `i += THREADS`, that reads or writes elements, each in every
/// iteration: consecutive ones can be read in blocks before the iterations, and written in blocks after them; others
/// can be read as a list, by an inspector that works out their indices before the iterations (Saltz, Mirchandaney and
/// Crowley, Run-Time Parallelization and Scheduling of Loops, IEEE Transactions on Computers 40, 1991).
struct ReadLoop {
    const clang::VarDecl* index = nullptr;
    const clang::Expr* end = nullptr; ///< a bound that does not change
    bool inclusive = false;           ///< the end is the last iteration
    bool by_threads = false;          ///< the index goes up by THREADS
    std::vector<const clang::ArraySubscriptExpr*> reads;
    std::vector<const clang::ArraySubscriptExpr*> writes;
    /// Consecutive ones that may be stored to in between: where they are near, they are loaded and stored.
    std::vector<const clang::ArraySubscriptExpr*> near;
    std::vector<const clang::ArraySubscriptExpr*> lists; ///< read at indices that are known before the iteration
    std::vector<const clang::Expr*> steady;              ///< read in every iteration, and the same in all of them
    std::vector<const clang::Expr*> repeated;            ///< read several times in every iteration
    std::set<const clang::VarDecl*> targets;             ///< pointers-to-private that the loop stores through
    /// Pointers-to-shared, or arrays, which must be of different threads for all of this.
    struct Apart {
        const clang::Expr* one;
        const clang::Expr* other;
    };
    std::vector<Apart> apart;
};

/// Of one loop; as many are read as written. Each has a buffer of the running program.
inline constexpr std::size_t most_runs = 4;
inline constexpr std::size_t most_lists = 4;
inline constexpr std::size_t most_near = 8; ///< different ones

class BlockReads {
public:
    BlockReads(clang::ASTContext& context, Types& types, Optimisations optimisations)
        : context_{context}, types_{types}, optimisations_{optimisations} {}

    /// Nothing to do where it must stay as it is; then `reason` says why, if the loop accesses shared objects at all.
    /// A upc_forall is taken to visit own iterations alone; `by_threads`: they are THREADS apart.
    [[nodiscard]] ReadLoop find(const clang::ForStmt* loop, const clang::FunctionDecl* function,
                                const std::function<bool(const clang::Expr*)>& is_strict, std::string& reason,
                                bool by_threads = false) const;
    /// Whether it is an element in blocks of one.
    [[nodiscard]] bool is_dealt(const clang::ArraySubscriptExpr* subscript) const;
    /// Of an element in blocks of one: the parts of its index, where that has the form `round * THREADS + thread`.
    [[nodiscard]] std::optional<Rounds> rounds_of(const clang::ArraySubscriptExpr* subscript) const;

private:
    [[nodiscard]] bool may_move(const clang::Expr* place) const;
    [[nodiscard]] Layout layout_of(const clang::ArraySubscriptExpr* subscript) const;
    [[nodiscard]] bool in_runs(const clang::ArraySubscriptExpr* subscript, const Steady& steady,
                               const ReadLoop& loop) const;
    struct Body;
    [[nodiscard]] bool are_apart(const clang::Expr* one, const clang::Expr* other, const Body& body,
                                 std::vector<ReadLoop::Apart>& if_apart) const;
    [[nodiscard]] bool is_apart_from_all(const clang::Expr* one, const std::vector<const clang::Expr*>& others,
                                         const Body& body, ReadLoop& found) const;
    void find_reads(const Body& body, ReadLoop& found, std::string& reason) const;
    void find_writes(const Body& body, ReadLoop& found) const;
    void find_near(const Body& body, ReadLoop& found) const;
    [[nodiscard]] bool is_of_one_thread(const clang::Expr* place, const Always& always, const Steady& steady) const;

    clang::ASTContext& context_;
    Types& types_;
    Optimisations optimisations_;
};

} // namespace upcc
