// upc_forall over the calling thread's own iterations, whose accesses to local elements are loads and stores.
#include "emit.hpp"
#include "forall.hpp"

#include <algorithm>

using namespace clang;

namespace upcc {

/// The C lvalue of `a[k * THREADS + MYTHREAD]` and `a[k][MYTHREAD]`; else empty.
std::string Emitter::own_column(const ArraySubscriptExpr* subscript) {
    const auto found = rounds_of(subscript);
    if (!found || found->thread == nullptr) return {};
    const auto* const thread = dyn_cast<DeclRefExpr>(found->thread->IgnoreParenImpCasts());
    if (thread == nullptr || thread->getDecl()->getName() != "MYTHREAD") return {};
    const VarDecl* const array = own_loops_.steady_rows(found->base, *own_loop_);
    if (array == nullptr) return {};
    if (std::find(own_columns_.begin(), own_columns_.end(), array) == own_columns_.end()) own_columns_.push_back(array);
    return "lapwing_column_" + array->getName().str() + "[" + expression(found->round) + "]";
}

/// The C lvalue of what can be loaded and stored in the loop that is being written, the thread's own elements for
/// example, or of a part of it; empty if that is not known.
std::string Emitter::own_place(const Expr* lvalue) {
    if (std::string near = near_place(lvalue); !near.empty()) return near;
    if (bit_field(lvalue) == nullptr)
        if (std::string near = place_in(near_runs_, lvalue); !near.empty()) return near;
    if (!own_loop_ || is_strict(lvalue)) return {};
    lvalue = lvalue->IgnoreParens();
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(lvalue)) {
        if (const VarDecl* const array = own_loops_.own_row(subscript, *own_loop_)) {
            if (std::find(own_arrays_.begin(), own_arrays_.end(), array) == own_arrays_.end())
                own_arrays_.push_back(array);
            return "lapwing_own_" + array->getName().str() + "[lapwing_k]";
        }
        if (std::string column = own_column(subscript); !column.empty()) return column;
        const auto* const decay = dyn_cast<ImplicitCastExpr>(subscript->getBase()->IgnoreParens());
        if (decay == nullptr || decay->getCastKind() != CK_ArrayToPointerDecay) return {};
        const std::string base = own_place(decay->getSubExpr());
        return base.empty() ? base : base + "[" + expression(subscript->getIdx()) + "]";
    }
    if (const auto* const member = dyn_cast<MemberExpr>(lvalue); member != nullptr && !member->isArrow()) {
        return part_of(own_place(member->getBase()), member);
    }
    return {};
}

/// Pointers to the calling thread's rows of the arrays that the body has accessed.
std::string Emitter::own_pointers() {
    std::string out;
    for (const VarDecl* const array : own_arrays_) {
        const QualType type = array->getType();
        const QualType row = types_.without_shared(
            type->isPointerType() ? Types::pointee(type) : context_.getAsArrayType(type)->getElementType());
        const std::string name = "*const lapwing_own_" + array->getName().str();
        out += declare(row, row->isArrayType() ? "(" + name + ")" : name) + " = lapwing_upcc_own_part(" +
               name_of(array) + "); ";
    }
    for (const VarDecl* const array : own_columns_) {
        const QualType type = array->getType();
        const QualType element = types_.element(type->isPointerType() ? Types::pointee(type) : type);
        out += value_type(element) + " *const lapwing_column_" + array->getName().str() + " = lapwing_upcc_own_part(" +
               name_of(array) + "); ";
    }
    return out;
}

/// Of own iterations, as own_iterations() names their numbers.
Emitter::Counting Emitter::counting(const OwnLoop& own) {
    const bool dealt = own.block == 1;
    return {dealt ? "lapwing_i < lapwing_end" : "lapwing_i < lapwing_stop",
            dealt ? "(lapwing_end - lapwing_i + lapwing_t - 1) / lapwing_t" : "lapwing_stop - lapwing_i",
            std::string{"++lapwing_k, lapwing_i += "} + (dealt ? "lapwing_t" : "1"),
            own.index->getName().str() + " = lapwing_i; "};
}

/// The loop over the thread's own iterations from lapwing_first to before lapwing_end; lapwing_k is the local row.
std::string Emitter::own_iterations(const ForStmt* loop, const OwnLoop& own, const std::string& hint,
                                    const std::string& body) {
    constexpr std::uint64_t shortest_block = 64; // for which parts in blocks are worth their arithmetic
    const std::string shift = std::to_string(own.shift);
    const Counting count = counting(own);
    std::string iterations =
        hint + "for (; " + count.condition + "; " + count.step + ") { " + count.at_start + body + " }";
    if (own.block == 1 || own.block >= shortest_block)
        if (const std::string by_blocks =
                block_read_loop(loop, hint, iterations, "the loop through own iterations", &own);
            !by_blocks.empty())
            iterations = by_blocks;
    if (own.block == 1)
        return "long long lapwing_k = (lapwing_first + (" + shift +
               ") + lapwing_t - 1 - lapwing_upc_own_thread) / lapwing_t, lapwing_i = lapwing_k * lapwing_t + "
               "lapwing_upc_own_thread - (" +
               shift + "); " + iterations;
    const std::string block = std::to_string(own.block) + "LL";
    return "for (long long lapwing_r = (lapwing_first + (" + shift + ")) / (" + block +
           " * lapwing_t);; ++lapwing_r) { const long long lapwing_b = (lapwing_r * lapwing_t + "
           "lapwing_upc_own_thread) * " +
           block + " - (" + shift + "), lapwing_stop = lapwing_b + " + block + " < lapwing_end ? lapwing_b + " + block +
           " : lapwing_end; if (lapwing_b >= lapwing_end) break; long long lapwing_i = lapwing_b < lapwing_first ? "
           "lapwing_first : lapwing_b, lapwing_k = lapwing_r * " +
           block + " + (lapwing_i - lapwing_b); " + iterations + " }";
}

/// Two loops: one over the thread's own iterations, and `otherwise`, for when the loop is nested in another one,
/// accesses are recorded, or elements before the array's begin are accessed. Empty if the loop must stay as it is.
std::string Emitter::own_loop(const ForStmt* loop, const std::string& nested, const std::string& hint,
                              const std::string& otherwise) {
    if (!optimisations_.own_loops || function_ == nullptr || own_loop_) return {};
    std::string reason;
    const std::optional<OwnLoop> found = own_loops_.find(loop, function_, reason);
    if (!found) {
        explain(loop, "upc_forall goes through all iterations: " + reason);
        return {};
    }
    own_loop_ = found;
    own_arrays_.clear();
    own_columns_.clear();
    ++foralls_;
    const std::string iterations = own_iterations(loop, *found, hint, statement(loop->getBody()));
    --foralls_;
    own_loop_.reset();
    const std::string pointers = own_pointers();
    for (const VarDecl* const array : own_columns_)
        if (std::find(own_arrays_.begin(), own_arrays_.end(), array) == own_arrays_.end()) own_arrays_.push_back(array);
    std::string arrays;
    for (const VarDecl* const array : own_arrays_) arrays += (arrays.empty() ? "" : ", ") + array->getName().str();
    explain(loop, "upc_forall goes through its own iterations alone" +
                      (arrays.empty() ? std::string{} : "; these own elements are loaded and stored: " + arrays));
    const std::string index = found->index->getName().str();
    // Pointers must point to the first row of their array.
    std::string starts;
    if (found->pointer != nullptr &&
        std::find(own_arrays_.begin(), own_arrays_.end(), found->pointer) == own_arrays_.end())
        own_arrays_.push_back(found->pointer);
    for (const VarDecl* const array : own_arrays_)
        if (array->getType()->isPointerType()) starts += " && lapwing_upcc_at_start(" + array->getName().str() + ")";
    const std::string depth = calls(loop->getBody())
                                  ? "int lapwing_outer __attribute__((cleanup(lapwing_upcc_leave_forall), unused)) = "
                                    "lapwing_upcc_forall_depth++; "
                                  : "";
    return "const long long lapwing_first = " + index + ", lapwing_end = (long long)(" + expression(found->end) + ")" +
           (found->inclusive ? " + 1" : "") + ", lapwing_t = THREADS; if (!" + nested +
           " && lapwing_upc_near.count != 0 && lapwing_first >= 0 && lapwing_end >= 0 && lapwing_first + (" +
           std::to_string(found->shift) + ") >= 0" + starts + ") { " + depth + pointers +
           line_marker(offset(loop->getBody()->getBeginLoc())) + iterations + " " + index +
           " = lapwing_end > lapwing_first ? lapwing_end : lapwing_first; } else " +
           line_marker(offset(loop->getBeginLoc())) + otherwise;
}

void Emitter::explain(const Stmt* statement, const std::string& text) {
    if (optimisations_.explain) report_.add(Report::Kind::remark, offset(statement->getBeginLoc()), text);
}

} // namespace upcc
