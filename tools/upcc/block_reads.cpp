// Which loops can read and write shared elements in blocks: nothing in them waits, or may change what is read.
#include "block_reads.hpp"

#include "forall.hpp"
#include "loop_parts.hpp"

#include <algorithm>

using namespace clang;

namespace upcc {

namespace {

constexpr std::int64_t largest_element = 1024; // bytes; a block read has at most lapwing_upcc_run_bytes

/// What a body stores to, and what it must not have.
class PlainBody : public EvaluatedVisitor<PlainBody> {
public:
    std::string reason;
    std::vector<const Expr*> stores;
    std::vector<const Expr*> shared;

    bool TraverseGenericSelectionExpr(GenericSelectionExpr* choice) { return TraverseStmt(choice->getResultExpr()); }
    bool VisitStmt(Stmt* statement) {
        if (isa<ForStmt, WhileStmt, DoStmt>(statement)) because("there is another loop in it");
        if (isa<GotoStmt, IndirectGotoStmt, LabelStmt, AddrLabelExpr, ReturnStmt, BreakStmt, ContinueStmt, SwitchStmt,
                SwitchCase>(statement))
            because("its body has a jump");
        if (isa<AsmStmt>(statement)) because("its body has assembly");
        if (isa<StmtExpr, VAArgExpr>(statement)) because("its body has statements in an expression");
        return true;
    }
    bool VisitDecl(Decl* declaration) {
        const auto* const one = dyn_cast<VarDecl>(declaration);
        if (declares_type(declaration) || (one != nullptr && !one->hasLocalStorage()))
            because("its body has a static object, or a structure of its own");
        return true;
    }
    bool VisitCallExpr(CallExpr* call) {
        if (!is_arithmetic(call)) because("its body calls a function");
        return true;
    }
    bool VisitExpr(Expr* expression) {
        if (Types::is_shared(expression->getType()) && expression->isGLValue()) shared.push_back(expression);
        if (expression->isGLValue() && expression->getType().isVolatileQualified())
            because("its body has volatile objects");
        return true;
    }
    bool VisitBinaryOperator(BinaryOperator* operation) {
        if (operation->isAssignmentOp()) stores.push_back(operation->getLHS()->IgnoreParens());
        return true;
    }
    bool VisitUnaryOperator(UnaryOperator* operation) {
        if (operation->isIncrementDecrementOp()) stores.push_back(operation->getSubExpr()->IgnoreParens());
        return true;
    }

private:
    void because(const char* text) {
        if (reason.empty()) reason = text;
    }
};

/// The array that a shared lvalue is in by its name, or null.
[[nodiscard]] const VarDecl* array_of(const Expr* place) {
    for (;;) {
        place = place->IgnoreParenImpCasts();
        if (const VarDecl* const one = variable(place)) return Types::is_shared(one->getType()) ? one : nullptr;
        const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place);
        const auto* const member = dyn_cast<MemberExpr>(place);
        const Expr* const next = subscript != nullptr                      ? subscript->getBase()
                                 : member != nullptr && !member->isArrow() ? member->getBase()
                                                                           : nullptr;
        if (next == nullptr || Types::points_to_shared(next->IgnoreParenImpCasts()->getType())) return nullptr;
        place = next;
    }
}

/// Of a private place, the pointer that it is stored through; null: a variable by its name.
[[nodiscard]] bool stored_through(const Expr* place, const VarDecl*& pointer) {
    pointer = nullptr;
    for (;;) {
        place = place->IgnoreParens();
        const Expr* next = nullptr;
        if (const auto* const member = dyn_cast<MemberExpr>(place)) {
            if (!member->isArrow()) {
                place = member->getBase();
                continue;
            }
            next = member->getBase();
        } else if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place)) {
            next = subscript->getBase();
        } else if (const auto* const operation = dyn_cast<UnaryOperator>(place)) {
            if (operation->getOpcode() == UO_Deref) next = operation->getSubExpr();
        } else {
            return isa<DeclRefExpr>(place);
        }
        if (next == nullptr) return false;
        const auto* const cast = dyn_cast<ImplicitCastExpr>(next->IgnoreParens());
        if (cast == nullptr) return false;
        if (cast->getCastKind() == CK_ArrayToPointerDecay) {
            place = cast->getSubExpr();
            continue;
        }
        pointer = variable(cast);
        return pointer != nullptr;
    }
}

/// Whether the two may be one object.
[[nodiscard]] bool may_be_same(const Expr* a, const Expr* b) {
    const VarDecl* const one = array_of(a);
    const VarDecl* const other = array_of(b);
    return one == nullptr || other == nullptr || one == other;
}

/// Whether its place can be worked out where the program does not: from variables and numbers, by sums that cannot be
/// undefined.
[[nodiscard]] bool cannot_fail(const ArraySubscriptExpr* subscript) {
    struct Finder : RecursiveASTVisitor<Finder> {
        bool found = false;
        bool VisitImplicitCastExpr(ImplicitCastExpr* cast) {
            if (cast->getCastKind() != CK_LValueToRValue) return true;
            const VarDecl* const one = variable(cast);
            found = found || one == nullptr || Types::is_shared(one->getType());
            return !found;
        }
        // A null pointer that the program tests before.
        bool VisitMemberExpr(MemberExpr* member) { return !(found = found || member->isArrow()); }
        bool VisitUnaryOperator(UnaryOperator*) { return !(found = true); }
        // The compiler may conclude from an operation that its result is defined.
        bool VisitBinaryOperator(BinaryOperator* operation) {
            found = found || !operation->isAdditiveOp() ||
                    !(is_number(operation->getLHS()) || is_number(operation->getRHS()));
            return !found;
        }
        static bool is_number(const Expr* term) { return isa<IntegerLiteral>(term->IgnoreParenImpCasts()); }
    } finder;
    finder.TraverseStmt(const_cast<ArraySubscriptExpr*>(subscript));
    return !finder.found;
}

/// `for (…; i < end; i++)` with an end that stays; else the reason why not.
[[nodiscard]] const char* counts_up(const ForStmt* loop, Changes& in_body, const Changes& in_function,
                                    ReadLoop& found) {
    found.index = counted_up(is_forall(loop) ? forall_step(loop) : loop->getInc());
    if (found.index == nullptr && !is_forall(loop)) {
        found.index = counted_by_threads(loop->getInc());
        found.by_threads = found.index != nullptr;
    }
    if (!is_index(found.index, in_body, in_function))
        return "it does not count up a local integer by one, or by THREADS";
    const auto* const test = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (test == nullptr || (test->getOpcode() != BO_LT && test->getOpcode() != BO_LE) ||
        variable(test->getLHS()) != found.index)
        return "its condition is none of i < n and i <= n";
    found.end = test->getRHS();
    found.inclusive = test->getOpcode() == BO_LE;
    // The index goes on with the loop: expressions that it is in do not stay.
    in_body.changed.insert(found.index);
    if (!Steady{in_body, in_function}.number(found.end))
        return "its bound is not made of constants and of variables that the body leaves alone";
    return nullptr;
}

} // namespace

/// Whether it is of a kind of which a copy can be used.
bool BlockReads::may_move(const Expr* place) const {
    const QualType type = place->getType();
    const RecordDecl* const record = type->getAsRecordDecl();
    const auto* const member = dyn_cast<MemberExpr>(place);
    if (member != nullptr && cast<FieldDecl>(member->getMemberDecl())->isBitField()) return false;
    return !type->isArrayType() && !type->isIncompleteType() && !types_.holds_pointer_to_shared(type) &&
           !(record != nullptr && record->isAnonymousStructOrUnion()) &&
           context_.getTypeSizeInChars(type).getQuantity() <= largest_element;
}

/// Of a pointer, or an array, that elements are found from.
Layout BlockReads::layout_of(const ArraySubscriptExpr* subscript) const {
    const Expr* const base = subscript->getBase();
    return types_.layout(Types::points_to_shared(base->getType()) ? Types::pointee(base->getType())
                                                                  : subscript->getType());
}

/// Whether iterations read, or write, consecutive elements of a thread.
bool BlockReads::in_runs(const ArraySubscriptExpr* subscript, const Steady& steady, const ReadLoop& loop) const {
    if (subscript->getBase()->getType()->isVectorType() || layout_of(subscript).kind == Layout::Kind::even ||
        !steady.base(subscript->getBase()))
        return false;
    if (loop.by_threads) return is_dealt(subscript) && steady.follows(subscript->getIdx(), loop.index);
    if (!is_dealt(subscript)) return steady.follows(subscript->getIdx(), loop.index);
    const auto rounds = rounds_of(subscript);
    return rounds && steady.follows(rounds->round, loop.index) &&
           (rounds->thread == nullptr || steady.number(rounds->thread));
}

bool BlockReads::is_dealt(const ArraySubscriptExpr* subscript) const { return layout_of(subscript).is_dealt(); }

std::optional<Rounds> BlockReads::rounds_of(const ArraySubscriptExpr* subscript) const {
    return is_dealt(subscript) && !subscript->getType()->isArrayType() ? upcc::rounds_of(subscript->getIdx())
                                                                       : std::nullopt;
}

/// Whether it is an element of what one thread has, found from a pointer, or an array, that stays.
bool BlockReads::is_of_one_thread(const Expr* place, const Always& always, const Steady& steady) const {
    const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place);
    if (subscript == nullptr || !layout_of(subscript).is_indefinite()) return false;
    const Expr* const base = subscript->getBase();
    return (variable(base) != nullptr || always.expressions.count(base) != 0) && steady.base(base);
}

/// What is known of a loop's body.
struct BlockReads::Body {
    const Changes& changes; ///< with what it declares
    const Steady& steady;
    Always always;                     ///< what each iteration evaluates
    std::vector<const Expr*> accesses; ///< to shared objects
    std::vector<const Expr*> stores;   ///< to shared objects
};

/// Whether two accesses are not to the same object; or are not if pointers of the loop are to different threads.
bool BlockReads::are_apart(const Expr* one, const Expr* other, const Body& body,
                           std::vector<ReadLoop::Apart>& if_apart) const {
    if (!may_be_same(one, other)) return true;
    if (!is_of_one_thread(one, body.always, body.steady) || !is_of_one_thread(other, body.always, body.steady))
        return false;
    if_apart.push_back({cast<ArraySubscriptExpr>(one)->getBase(), cast<ArraySubscriptExpr>(other)->getBase()});
    return true;
}

bool BlockReads::is_apart_from_all(const Expr* one, const std::vector<const Expr*>& others, const Body& body,
                                   ReadLoop& found) const {
    std::vector<ReadLoop::Apart> if_apart;
    const bool all = std::all_of(others.begin(), others.end(),
                                 [&](const Expr* other) { return are_apart(one, other, body, if_apart); });
    if (all) found.apart.insert(found.apart.end(), if_apart.begin(), if_apart.end());
    return all;
}

void BlockReads::find_reads(const Body& body, ReadLoop& found, std::string& reason) const {
    for (const Expr* const read : body.always.reads) {
        if (!may_move(read) || names_own(read, body.changes)) continue;
        const auto* const subscript = dyn_cast<ArraySubscriptExpr>(read);
        const bool runs = subscript != nullptr && in_runs(subscript, body.steady, found);
        const bool stays = !runs && body.steady.place(read);
        const bool listed = !runs && !stays && subscript != nullptr && body.steady.base(subscript->getBase()) &&
                            body.steady.number_of(subscript->getIdx(), found.index);
        if (!runs && !stays && !listed) continue;
        if (!is_apart_from_all(read, body.stores, body, found)) reason = "it may store to what it reads";
        else if (runs && optimisations_.block_reads && found.reads.size() < most_runs) found.reads.push_back(subscript);
        else if (listed && optimisations_.list_reads && found.lists.size() < most_lists)
            found.lists.push_back(subscript);
        else if (!runs && optimisations_.merged_reads) (listed ? found.repeated : found.steady).push_back(read);
    }
}

void BlockReads::find_writes(const Body& body, ReadLoop& found) const {
    for (const ArraySubscriptExpr* const write : body.always.writes) {
        if (!may_move(write) || names_own(write, body.changes) || !in_runs(write, body.steady, found) ||
            found.writes.size() >= most_runs)
            continue;
        std::vector<const Expr*> others;
        for (const Expr* const other : body.accesses) // the name of an array is not an access
            if (!other->getType()->isArrayType() && other->IgnoreParens() != write) others.push_back(other);
        if (is_apart_from_all(write, others, body, found)) found.writes.push_back(write);
    }
}

/// What can be loaded and stored in runs that are near: the rest of the accesses to consecutive elements.
void BlockReads::find_near(const Body& body, ReadLoop& found) const {
    constexpr std::uint64_t shortest_block = 8; // others are hardly worth the arithmetic of a run
    const auto has = [](const auto& all, const Expr* one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    };
    for (const Expr* const place : body.accesses) {
        const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place);
        if (subscript == nullptr || has(found.reads, place) || has(found.writes, place) || !may_move(place) ||
            names_own(place, body.changes) || !in_runs(subscript, body.steady, found))
            continue;
        const Layout layout = layout_of(subscript);
        const bool short_blocks =
            layout.kind == Layout::Kind::blocks && layout.block > 1 && layout.block < shortest_block;
        // If some iterations do not evaluate it, working out its place must be harmless.
        if (!short_blocks && (body.always.expressions.count(place) != 0 || cannot_fail(subscript)))
            found.near.push_back(subscript);
    }
}

ReadLoop BlockReads::find(const ForStmt* loop, const FunctionDecl* function,
                          const std::function<bool(const Expr*)>& is_strict, std::string& reason,
                          bool by_threads) const {
    PlainBody plain;
    plain.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    if (plain.shared.empty()) return {};
    reason = plain.reason;
    if (!reason.empty()) return {};
    const auto no = [&](const char* text) {
        reason = text;
        return ReadLoop{};
    };
    ReadLoop found;
    found.by_threads = by_threads;
    Changes in_body, in_function;
    in_body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    in_function.TraverseStmt(function->getBody());
    in_body.changed.insert(in_body.declared.begin(), in_body.declared.end());
    if (const char* const why = counts_up(loop, in_body, in_function, found)) return no(why);
    if (std::any_of(plain.shared.begin(), plain.shared.end(), is_strict)) return no("its body has strict accesses");
    const Steady steady{in_body, in_function};
    Body body{in_body, steady, {}, plain.shared, {}};
    for (const Expr* const place : plain.stores) {
        const VarDecl* pointer = nullptr;
        if (Types::is_shared(place->getType())) body.stores.push_back(place);
        else if (!stored_through(place, pointer) || (pointer != nullptr && in_body.changed.count(pointer) != 0))
            return no("it stores to where shared objects may be");
        else if (pointer != nullptr) found.targets.insert(pointer);
    }
    body.always.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    reason = "no element is read in every iteration at an index that can be known before";
    find_reads(body, found, reason);
    if (optimisations_.block_writes) find_writes(body, found);
    if (optimisations_.near_loops) find_near(body, found);
    return found;
}

} // namespace upcc
