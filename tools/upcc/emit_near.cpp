// Loops over what a thread has, for where that can be loaded and stored.
#include "emit.hpp"

#include <algorithm>
#include <map>
#include <utility>

using namespace clang;

namespace upcc {

/// The C lvalue of what is near in the loop that is being written; empty if it may not be.
std::string Emitter::near_place(const Expr* lvalue) {
    if (near_.empty() || is_strict(lvalue)) return {};
    const auto pointer = [&](const Expr* to) -> std::string {
        const Expr* base = to->IgnoreParens();
        const auto* const decay = dyn_cast<ImplicitCastExpr>(base);
        const bool is_array = decay != nullptr && decay->getCastKind() == CK_ArrayToPointerDecay;
        if (is_array) base = decay->getSubExpr()->IgnoreParens();
        const auto known = near_.find(source(base->getSourceRange()));
        if (known != near_.end()) return known->second;
        return is_array ? near_place(base) : std::string{};
    };
    lvalue = lvalue->IgnoreParens();
    // `*p++` and `p++->x` of a pointer that walks.
    const auto* const looked = dyn_cast<UnaryOperator>(lvalue);
    const auto* const arrow = dyn_cast<MemberExpr>(lvalue);
    const Expr* const through = looked != nullptr && looked->getOpcode() == UO_Deref ? looked->getSubExpr()
                                : arrow != nullptr && arrow->isArrow()               ? arrow->getBase()
                                                                                     : nullptr;
    if (const VarDecl* const moved = through == nullptr ? nullptr : moved_by_one(through);
        moved != nullptr && walking_.count(moved) != 0) {
        std::string text = "(*" + expression(through) + ")";
        return arrow == nullptr ? text : part_of(text, arrow);
    }
    if (near_loops_.base_of(lvalue) == nullptr || !near_loops_.stays_in_row(lvalue, near_loop_)) return {};
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(lvalue)) {
        const std::string base = pointer(subscript->getBase());
        return base.empty() ? base : base + "[" + expression(subscript->getIdx()) + "]";
    }
    if (const auto* const member = dyn_cast<MemberExpr>(lvalue)) {
        if (!member->isArrow()) return part_of(near_place(member->getBase()), member);
        const std::string base = pointer(member->getBase());
        return base.empty() ? base : part_of("(*" + base + ")", member);
    }
    const auto* const content = dyn_cast<UnaryOperator>(lvalue);
    const std::string base = content == nullptr ? std::string{} : pointer(content->getSubExpr());
    return base.empty() ? base : "(*" + base + ")";
}

/// Whether a loop also goes through consecutive elements that are not found from these bases. Then it is written by
/// blocks, which finds those of these bases, too.
bool Emitter::has_other_runs(const ForStmt* loop, const NearLoop& known) {
    if (!known.walking.empty()) return false;
    std::string reason;
    const ReadLoop runs = read_loop(loop, reason);
    return std::any_of(runs.near.begin(), runs.near.end(), [&](const ArraySubscriptExpr* one) {
        const Expr* const base = near_loops_.base_of(one);
        return base == nullptr || std::none_of(known.bases.begin(), known.bases.end(), [&](const Expr* other) {
                   return source(other->getSourceRange()) == source(base->getSourceRange());
               });
    });
}

/// The loop with loads and stores, where all of its pointers point to what is near, and else by blocks; both without
/// the loop's start. Empty where it must stay as it is.
std::string Emitter::near_loop(const ForStmt* loop, const std::string& hint, const std::string& otherwise) {
    if (!optimisations_.near_loops || function_ == nullptr || !near_.empty())
        return block_read_loop(loop, hint, otherwise, "loop");
    const NearLoop found = near_loops_.find(loop, function_, [&](const Expr* lvalue) { return is_strict(lvalue); });
    if ((found.bases.empty() && found.walking.empty()) || has_other_runs(loop, found))
        return block_read_loop(loop, hint, otherwise, "loop");
    const std::string number = std::to_string(offset(loop->getBeginLoc()));
    const std::string test = condition(loop->getCond());
    std::string pointers, all_near, what, after;
    std::map<std::string, std::string> names;
    const auto add_base = [&](const Expr* base) {
        const std::string name = "lapwing_q_" + number + "_" + std::to_string(names.size());
        const std::string text = source(base->getSourceRange());
        if (!names.emplace(text, name).second) return;
        const bool is_array = base->getType()->isArrayType();
        const QualType to =
            is_array ? context_.getAsArrayType(base->getType())->getElementType() : Types::pointee(base->getType());
        const QualType row = types_.without_shared(to);
        const std::string declarator = "*const " + name;
        pointers += declare(row, row->isArrayType() ? "(" + declarator + ")" : declarator) + " = (" + test +
                    ") ? (void*)lapwing_upc_near_place(" + (is_array ? place(base) : expression(base)) +
                    ", 1) : (void*)0; ";
        all_near += (all_near.empty() ? "" : " && ") + name + " != 0";
        what += (what.empty() ? "" : ", ") + text;
    };
    const auto add_walking = [&](const VarDecl* one) {
        const std::string name = "lapwing_q_" + number + "_" + std::to_string(names.size());
        const std::string text = one->getName().str();
        const QualType row = types_.without_shared(Types::pointee(one->getType()));
        names.emplace(text, name);
        walking_.emplace(one, name);
        pointers += declare(row, row->isArrayType() ? "(*" + name + ")" : "*" + name) +
                    " = (void*)lapwing_upc_near_place(" + text + ", 1); const char* const " + name +
                    "_first = (const char*)" + name + "; ";
        all_near += (all_near.empty() ? "" : " && ") + name + " != 0";
        after += text + ".address += (lapwing_uint64)((const char*)" + name + " - " + name + "_first); ";
        what += (what.empty() ? "" : ", ") + text;
    };
    std::for_each(found.bases.begin(), found.bases.end(), add_base);
    std::for_each(found.walking.begin(), found.walking.end(), add_walking);
    explain(loop, "loop loads and stores, where all of these are near: " + what);
    near_ = names;
    near_loop_ = loop;
    const std::string body = statement(loop->getBody()), step = expression(loop->getInc());
    near_.clear();
    walking_.clear();
    const std::string far =
        block_read_loop(loop, hint, otherwise, "where one of them is not, the loop", nullptr, false);
    // The compiler must not move its loads out of a loop around it, which may wait for what they find.
    return pointers + "if (" + all_near + ") { __asm__ volatile(\"\" ::: \"memory\"); " + hint + "for (; " + test +
           "; " + step + ") { " + line_marker(offset(loop->getBody()->getBeginLoc())) + body + " } " + after +
           "} else " + line_marker(offset(loop->getBeginLoc())) + (far.empty() ? otherwise : far);
}

} // namespace upcc
