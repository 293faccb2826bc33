// Which loops can read and write shared elements in blocks: nothing in them waits, or may change what is read.
#include "block_reads.hpp"

#include "forall.hpp"
#include "loop_parts.hpp"

#include <algorithm>

using namespace clang;

namespace upcc {

namespace {

constexpr std::int64_t largest_element = 1024; // bytes; a block read has at most lapwing_upcc_run_bytes

/// Functions of numbers alone.
[[nodiscard]] bool is_arithmetic(const CallExpr* call) {
    static const std::set<StringRef>& names = *new std::set<StringRef>{
        "sqrt", "sqrtf", "fabs", "fabsf", "abs",  "labs",  "sin",   "cos",  "tan",   "exp",   "log",  "log2",
        "pow",  "floor", "ceil", "fmin",  "fmax", "fminf", "fmaxf", "exp2", "hypot", "atan2", "cbrt", "fma"};
    const FunctionDecl* const callee = call->getDirectCallee();
    return callee != nullptr && callee->getIdentifier() != nullptr && !callee->hasBody() &&
           names.count(callee->getName()) != 0;
}

/// What a body stores to, and what it must not have.
class PlainBody : public RecursiveASTVisitor<PlainBody> {
public:
    std::string reason;
    std::vector<const Expr*> stores;
    std::vector<const Expr*> shared;

    bool VisitStmt(Stmt* statement) {
        if (isa<ForStmt, WhileStmt, DoStmt>(statement)) because("there is another loop in it");
        if (isa<GotoStmt, IndirectGotoStmt, LabelStmt, AddrLabelExpr, ReturnStmt, BreakStmt, ContinueStmt, SwitchStmt>(
                statement))
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

/// Reads and assignments that every iteration evaluates.
class Always : public RecursiveASTVisitor<Always> {
public:
    std::vector<const Expr*> reads; ///< of members, the structure
    std::vector<const ArraySubscriptExpr*> writes;

    bool TraverseIfStmt(IfStmt* choice) { return TraverseStmt(choice->getCond()); }
    bool TraverseConditionalOperator(ConditionalOperator* choice) { return TraverseStmt(choice->getCond()); }
    bool TraverseBinaryConditionalOperator(BinaryConditionalOperator*) { return true; }
    bool TraverseUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr*) { return true; }
    bool TraverseGenericSelectionExpr(GenericSelectionExpr*) { return true; }
    bool TraverseBinaryOperator(BinaryOperator* operation) {
        if (operation->isLogicalOp()) return TraverseStmt(operation->getLHS());
        return RecursiveASTVisitor::TraverseBinaryOperator(operation);
    }
    bool VisitBinaryOperator(BinaryOperator* operation) {
        const auto* const to = dyn_cast<ArraySubscriptExpr>(operation->getLHS()->IgnoreParens());
        if (operation->getOpcode() == BO_Assign && to != nullptr && Types::is_shared(to->getType()) &&
            !to->getBase()->getType()->isVectorType())
            writes.push_back(to);
        return true;
    }
    bool VisitImplicitCastExpr(ImplicitCastExpr* cast) {
        if (cast->getCastKind() != CK_LValueToRValue || !Types::is_shared(cast->getSubExpr()->getType())) return true;
        const Expr* place = cast->getSubExpr()->IgnoreParens();
        for (;;) {
            const auto* const member = dyn_cast<MemberExpr>(place);
            const auto* const part = dyn_cast<ArraySubscriptExpr>(place);
            if (member != nullptr && !member->isArrow()) place = member->getBase()->IgnoreParens();
            else if (part != nullptr && part->getBase()->getType()->isVectorType())
                place = part->getBase()->IgnoreParens();
            else break;
        }
        reads.push_back(place);
        return true;
    }
};

/// Whether expressions keep their values, or go with the index, while the loop runs.
class Steady {
public:
    Steady(const Changes& in_loop, const Changes& in_function, const VarDecl* index)
        : in_loop_{in_loop}, in_function_{in_function}, index_{index} {}

    /// The index, and something added to it that stays.
    [[nodiscard]] bool follows(const Expr* expression) const {
        expression = expression->IgnoreParenImpCasts();
        if (variable(expression) == index_) return true;
        const auto* const operation = dyn_cast<BinaryOperator>(expression);
        // Of unsigned numbers the sum may begin at 0 again.
        if (operation == nullptr || !operation->isAdditiveOp() || !operation->getType()->isSignedIntegerType())
            return false;
        if (follows(operation->getLHS()) && number(operation->getRHS())) return true;
        return operation->getOpcode() == BO_Add && number(operation->getLHS()) && follows(operation->getRHS());
    }
    [[nodiscard]] bool number(const Expr* expression) const { return Bound{in_loop_, in_function_}.stays(expression); }
    /// A shared object that is the same one in all iterations.
    [[nodiscard]] bool place(const Expr* expression) const {
        if (const VarDecl* const one = variable(expression)) return Types::is_shared(one->getType());
        if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(expression))
            return number(subscript->getIdx()) && base(subscript->getBase());
        const auto* const member = dyn_cast<MemberExpr>(expression);
        if (member != nullptr && member->isArrow()) return base(member->getBase());
        const auto* const content = dyn_cast<UnaryOperator>(expression);
        return content != nullptr && content->getOpcode() == UO_Deref && base(content->getSubExpr());
    }
    /// Of what a pointer, or an array, is found in.
    [[nodiscard]] bool base(const Expr* expression) const {
        expression = expression->IgnoreParenImpCasts();
        if (const VarDecl* const one = variable(expression)) {
            if (one->getType()->isArrayType() && one->hasGlobalStorage()) return true;
            return in_loop_.changed.count(one) == 0 && (one->hasLocalStorage() || !in_loop_.stores_pointers) &&
                   in_function_.addressed.count(one) == 0;
        }
        if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(expression))
            return !in_loop_.stores_pointers && number(subscript->getIdx()) && base(subscript->getBase());
        if (const auto* const member = dyn_cast<MemberExpr>(expression))
            return !in_loop_.stores_pointers && base(member->getBase());
        return false;
    }

private:
    const Changes& in_loop_;
    const Changes& in_function_;
    const VarDecl* index_;
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

/// Whether it names a variable of the body, or one that has the name of such a variable.
[[nodiscard]] bool names_own(const Expr* expression, const Changes& in_body) {
    struct Names : RecursiveASTVisitor<Names> {
        std::set<StringRef> found;
        bool VisitDeclRefExpr(DeclRefExpr* reference) {
            if (reference->getDecl()->getIdentifier() != nullptr) found.insert(reference->getDecl()->getName());
            return true;
        }
    } names;
    names.TraverseStmt(const_cast<Expr*>(expression));
    for (const VarDecl* const one : in_body.declared)
        if (one->getIdentifier() != nullptr && names.found.count(one->getName()) != 0) return true;
    return false;
}

/// `for (…; i < end; i++)` with an end that stays; else the reason why not.
[[nodiscard]] const char* counts_up(const ForStmt* loop, const Changes& in_body, const Changes& in_function,
                                    ReadLoop& found) {
    found.index = counted_up(loop->getInc());
    if (!is_index(found.index, in_body, in_function)) return "it does not count up a local integer by one";
    const auto* const test = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (test == nullptr || (test->getOpcode() != BO_LT && test->getOpcode() != BO_LE) ||
        variable(test->getLHS()) != found.index)
        return "its condition is none of i < n and i <= n";
    found.end = test->getRHS();
    found.inclusive = test->getOpcode() == BO_LE;
    if (!Bound{in_body, in_function}.stays(found.end))
        return "its bound is not made of constants and of local variables that the body leaves alone";
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

/// Whether the array has blocks of several elements.
bool BlockReads::in_runs(const ArraySubscriptExpr* subscript) const {
    const Expr* const base = subscript->getBase();
    const Layout layout = types_.layout(Types::points_to_shared(base->getType()) ? Types::pointee(base->getType())
                                                                                 : subscript->getType());
    return layout.kind != Layout::Kind::even && !(layout.kind == Layout::Kind::blocks && layout.block == 1);
}

ReadLoop BlockReads::find(const ForStmt* loop, const FunctionDecl* function,
                          const std::function<bool(const Expr*)>& is_strict, std::string& reason) const {
    PlainBody body;
    body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    if (body.shared.empty()) return {};
    reason = body.reason;
    if (!reason.empty()) return {};
    const auto no = [&](const char* text) {
        reason = text;
        return ReadLoop{};
    };
    ReadLoop found;
    Changes in_body, in_function;
    in_body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    in_function.TraverseStmt(function->getBody());
    in_body.changed.insert(in_body.declared.begin(), in_body.declared.end());
    if (const char* const why = counts_up(loop, in_body, in_function, found)) return no(why);
    for (const Expr* const one : body.shared)
        if (is_strict(one)) return no("its body has strict accesses");
    std::vector<const Expr*> shared_stores;
    for (const Expr* const place : body.stores) {
        const VarDecl* pointer = nullptr;
        if (Types::is_shared(place->getType())) shared_stores.push_back(place);
        else if (!stored_through(place, pointer) || (pointer != nullptr && in_body.changed.count(pointer) != 0))
            return no("it stores to where shared objects may be");
        else if (pointer != nullptr) found.targets.insert(pointer);
    }
    Always always;
    always.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    // The index goes on with the loop: expressions that it is in do not stay.
    in_body.changed.insert(found.index);
    const Steady steady{in_body, in_function, found.index};
    reason =
        "no element is read in every iteration at an index that goes with the loop's, from a block of more than one";
    for (const Expr* const read : always.reads) {
        if (!may_move(read) || names_own(read, in_body)) continue;
        const auto* const subscript = dyn_cast<ArraySubscriptExpr>(read);
        const bool follows =
            subscript != nullptr && steady.follows(subscript->getIdx()) && steady.base(subscript->getBase());
        const bool runs = follows && in_runs(subscript);
        if (!follows && !steady.place(read)) continue;
        const bool changes = std::any_of(shared_stores.begin(), shared_stores.end(),
                                         [&](const Expr* place) { return may_be_same(read, place); });
        if (changes) reason = "it may store to what it reads";
        else if (runs && optimisations_.block_reads && found.reads.size() < most_runs) found.reads.push_back(subscript);
        else if (!runs && optimisations_.merged_reads) (follows ? found.repeated : found.steady).push_back(read);
    }
    for (const ArraySubscriptExpr* const write : always.writes) {
        const bool alone = std::all_of(body.shared.begin(), body.shared.end(), [&](const Expr* other) {
            // The name of an array is not an access.
            return other->getType()->isArrayType() || other->IgnoreParens() == write || !may_be_same(write, other);
        });
        if (optimisations_.block_writes && alone && may_move(write) && !names_own(write, in_body) && in_runs(write) &&
            steady.follows(write->getIdx()) && steady.base(write->getBase()) && found.writes.size() < most_runs)
            found.writes.push_back(write);
    }
    return found;
}

} // namespace upcc
