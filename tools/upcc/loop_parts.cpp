#include "loop_parts.hpp"

#include "types.hpp"

#include <algorithm>

using namespace clang;

namespace upcc {

namespace {

/// What the pre-pass writes for THREADS where it need not be a constant.
constexpr const char* threads_name = "lapwing_upcc_threads";

[[nodiscard]] bool holds_pointer(QualType type) {
    type = type.getCanonicalType();
    while (const auto* const array = dyn_cast<ArrayType>(type)) type = array->getElementType().getCanonicalType();
    if (type->isPointerType()) return true;
    const RecordDecl* const record = type->getAsRecordDecl();
    if (record == nullptr) return false;
    return std::any_of(record->field_begin(), record->field_end(),
                       [](const FieldDecl* field) { return holds_pointer(field->getType()); });
}

/// An integer in which positions in memory do not wrap around.
[[nodiscard]] bool is_wide(QualType type) {
    const auto* const number = type->getAs<BuiltinType>();
    if (number == nullptr) return false;
    switch (number->getKind()) {
    case BuiltinType::Long:
    case BuiltinType::ULong:
    case BuiltinType::LongLong:
    case BuiltinType::ULongLong: return true;
    default: return false;
    }
}

} // namespace

bool is_arithmetic(const CallExpr* call) {
    static const std::set<StringRef>& names = *new std::set<StringRef>{
        "sqrt", "sqrtf", "fabs", "fabsf", "abs",  "labs",  "sin",   "cos",  "tan",   "exp",   "log",  "log2",
        "pow",  "floor", "ceil", "fmin",  "fmax", "fminf", "fmaxf", "exp2", "hypot", "atan2", "cbrt", "fma"};
    const FunctionDecl* const callee = call->getDirectCallee();
    return callee != nullptr && callee->getIdentifier() != nullptr && !callee->hasBody() &&
           names.count(callee->getName()) != 0;
}

namespace {

/// Whether a place is in a union, whose members are of several types.
[[nodiscard]] bool is_in_union(const Expr* place) {
    for (;;) {
        place = place->IgnoreParenImpCasts();
        if (const auto* const member = dyn_cast<MemberExpr>(place)) {
            const auto* const field = dyn_cast<FieldDecl>(member->getMemberDecl());
            if (field != nullptr && field->getParent()->isUnion()) return true;
            place = member->getBase();
        } else if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place)) {
            place = subscript->getBase();
        } else {
            return false;
        }
    }
}

/// Whether a store of a character may be to any object.
[[nodiscard]] bool is_store_of_bytes(const Expr* place) {
    if (!place->getType()->isCharType() || Types::is_shared(place->getType()) || isa<DeclRefExpr>(place)) return false;
    const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place);
    return subscript == nullptr || !subscript->getBase()->IgnoreParenImpCasts()->getType()->isArrayType();
}

} // namespace

void Changes::add_store(const Expr* place) {
    add(place, changed);
    place = place->IgnoreParens();
    stores.push_back(place);
    stores_pointers =
        stores_pointers || holds_pointer(place->getType()) || is_in_union(place) || is_store_of_bytes(place);
}

bool Always::TraverseCompoundStmt(CompoundStmt* statements) {
    struct Leaves : RecursiveASTVisitor<Leaves> {
        bool found = false;
        bool VisitStmt(Stmt* statement) {
            found = found || isa<BreakStmt, ContinueStmt, ReturnStmt, GotoStmt, IndirectGotoStmt>(statement);
            return !found;
        }
        bool VisitCallExpr(CallExpr* call) {
            found = found || !is_arithmetic(call);
            return !found;
        }
    } leaves;
    for (Stmt* const statement : statements->body()) {
        TraverseStmt(statement);
        leaves.TraverseStmt(statement);
        if (leaves.found) break;
    }
    return true;
}

bool Always::VisitBinaryOperator(BinaryOperator* operation) {
    const auto* const to = dyn_cast<ArraySubscriptExpr>(operation->getLHS()->IgnoreParens());
    if (operation->getOpcode() == BO_Assign && to != nullptr && Types::is_shared(to->getType()) &&
        !to->getBase()->getType()->isVectorType())
        writes.push_back(to);
    return true;
}

bool Always::VisitImplicitCastExpr(ImplicitCastExpr* cast) {
    if (cast->getCastKind() != CK_LValueToRValue || !Types::is_shared(cast->getSubExpr()->getType())) return true;
    const Expr* place = cast->getSubExpr()->IgnoreParens();
    for (;;) {
        const auto* const member = dyn_cast<MemberExpr>(place);
        const auto* const part = dyn_cast<ArraySubscriptExpr>(place);
        if (member != nullptr && !member->isArrow()) place = member->getBase()->IgnoreParens();
        else if (part != nullptr && part->getBase()->getType()->isVectorType()) place = part->getBase()->IgnoreParens();
        else break;
    }
    reads.push_back(place);
    return true;
}

bool Steady::follows(const Expr* expression, const VarDecl* index) const {
    expression = expression->IgnoreParenImpCasts();
    if (variable(expression) == index) return true;
    if (const auto* const cast = dyn_cast<CStyleCastExpr>(expression))
        return is_wide(cast->getType()) && follows(cast->getSubExpr(), index);
    const auto* const operation = dyn_cast<BinaryOperator>(expression);
    // Of unsigned numbers the sum may begin at 0 again.
    if (operation == nullptr || !operation->isAdditiveOp() || !operation->getType()->isSignedIntegerType())
        return false;
    if (follows(operation->getLHS(), index) && number(operation->getRHS())) return true;
    return operation->getOpcode() == BO_Add && number(operation->getLHS()) && follows(operation->getRHS(), index);
}

bool Steady::place(const Expr* expression) const {
    if (const VarDecl* const one = variable(expression)) return Types::is_shared(one->getType());
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(expression))
        return number(subscript->getIdx()) && base(subscript->getBase());
    const auto* const member = dyn_cast<MemberExpr>(expression);
    if (member != nullptr && member->isArrow()) return base(member->getBase());
    const auto* const content = dyn_cast<UnaryOperator>(expression);
    return content != nullptr && content->getOpcode() == UO_Deref && base(content->getSubExpr());
}

bool Steady::base(const Expr* expression) const {
    expression = expression->IgnoreParenImpCasts();
    if (const VarDecl* const one = variable(expression)) {
        if (one->getType()->isArrayType() && one->hasGlobalStorage()) return true;
        if (one->getType().isVolatileQualified()) return false;
        if (in_loop_.changed.count(one) != 0 || in_function_.addressed.count(one) != 0) return false;
        return one->hasLocalStorage() || (!in_loop_.stores_pointers && !in_loop_.calls);
    }
    const bool memory_stays = !in_loop_.stores_pointers && !in_loop_.calls;
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(expression)) {
        // The row of a shared array is where it is, whatever is stored.
        const bool is_row = subscript->getType()->isArrayType();
        return (memory_stays || is_row) && number(subscript->getIdx()) && base(subscript->getBase());
    }
    if (const auto* const member = dyn_cast<MemberExpr>(expression)) return memory_stays && base(member->getBase());
    return false;
}

bool Steady::may_be_stored_to(const Expr* read) const {
    const QualType type = read->getType().getCanonicalType().getUnqualifiedType();
    if (is_in_union(read) && !in_loop_.stores.empty()) return true;
    return std::any_of(in_loop_.stores.begin(), in_loop_.stores.end(), [&](const Expr* place) {
        const VarDecl* const one = variable(place);
        if (one != nullptr && one->hasLocalStorage() && in_function_.addressed.count(one) == 0) return false;
        const QualType stored = place->getType().getCanonicalType().getUnqualifiedType();
        if (is_in_union(place)) return true;
        // Of C's types of objects: signed and unsigned ones may be of one object.
        if (stored->isRecordType() || stored->isCharType() || type->isCharType()) return true;
        return stored == type || (stored->isIntegerType() && type->isIntegerType());
    });
}

bool Steady::is_known_variable(const DeclRefExpr* name) const {
    const auto* const one = dyn_cast<VarDecl>(name->getDecl());
    if (one == nullptr || one->getType().isVolatileQualified() || Types::is_shared(one->getType()) ||
        in_loop_.changed.count(one) != 0)
        return false;
    if (one->hasLocalStorage()) return in_function_.addressed.count(one) == 0;
    return !in_loop_.calls && !may_be_stored_to(name);
}

/// Of private memory, whose place must be known, too.
bool Steady::is_known_memory(const Expr* place, const VarDecl* index) const {
    if (in_loop_.calls || place->getType().isVolatileQualified() || Types::is_shared(place->getType()) ||
        may_be_stored_to(place))
        return false;
    const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place);
    const auto* const member = dyn_cast<MemberExpr>(place);
    if (subscript != nullptr && subscript->getBase()->getType()->isVectorType()) return false;
    if (subscript != nullptr && !is_known(subscript->getIdx(), index)) return false;
    if (member != nullptr && cast<FieldDecl>(member->getMemberDecl())->isBitField()) return false;
    if (subscript == nullptr && member == nullptr) return false;
    const Expr* const of = (subscript != nullptr ? subscript->getBase() : member->getBase())->IgnoreParenImpCasts();
    if (const VarDecl* const one = variable(of)) {
        if (!of->getType()->isPointerType()) return !one->getType().isVolatileQualified();
        return base(of);
    }
    return (isa<ArraySubscriptExpr>(of) || isa<MemberExpr>(of)) &&
           (of->getType()->isPointerType() ? base(of) : is_known_memory(of, index));
}

bool Steady::is_known(const Expr* expression, const VarDecl* index) const {
    expression = expression->IgnoreParenImpCasts();
    if (!expression->getType()->isIntegerType()) return false;
    if (isa<IntegerLiteral, CharacterLiteral>(expression)) return true;
    if (const auto* const name = dyn_cast<DeclRefExpr>(expression)) {
        const StringRef called = name->getDecl()->getName();
        if (isa<EnumConstantDecl>(name->getDecl()) || called == "MYTHREAD" || called == threads_name) return true;
        return (index != nullptr && name->getDecl() == index) || is_known_variable(name);
    }
    if (const auto* const operation = dyn_cast<BinaryOperator>(expression))
        return (operation->isAdditiveOp() || operation->isMultiplicativeOp() || operation->isShiftOp() ||
                operation->isBitwiseOp()) &&
               is_known(operation->getLHS(), index) && is_known(operation->getRHS(), index);
    if (const auto* const operation = dyn_cast<UnaryOperator>(expression))
        return (operation->getOpcode() == UO_Minus || operation->getOpcode() == UO_Plus ||
                operation->getOpcode() == UO_Not) &&
               is_known(operation->getSubExpr(), index);
    if (const auto* const cast = dyn_cast<CStyleCastExpr>(expression)) return is_known(cast->getSubExpr(), index);
    return isa<ArraySubscriptExpr, MemberExpr>(expression) && is_known_memory(expression, index);
}

namespace {

[[nodiscard]] bool is_threads(const Expr* expression) {
    expression = expression->IgnoreParenImpCasts();
    // A cast to a narrower type is another number.
    while (const auto* const cast = dyn_cast<CStyleCastExpr>(expression)) {
        if (!is_wide(cast->getType()) && !cast->getType()->isSpecificBuiltinType(BuiltinType::Int)) return false;
        expression = cast->getSubExpr()->IgnoreParenImpCasts();
    }
    const auto* const name = dyn_cast<DeclRefExpr>(expression);
    return name != nullptr && (name->getDecl()->getName() == "THREADS" || name->getDecl()->getName() == threads_name);
}

[[nodiscard]] bool does_not_wrap(QualType type) { return type->isSignedIntegerType() || is_wide(type); }

/// `round` of `round * THREADS`, or null.
[[nodiscard]] const Expr* round_of(const Expr* term) {
    const auto* const product = dyn_cast<BinaryOperator>(term->IgnoreParenImpCasts());
    if (product == nullptr || product->getOpcode() != BO_Mul || !does_not_wrap(product->getType())) return nullptr;
    if (is_threads(product->getRHS())) return product->getLHS();
    return is_threads(product->getLHS()) ? product->getRHS() : nullptr;
}

} // namespace

std::optional<Rounds> rounds_of(const Expr* index) {
    index = index->IgnoreParenImpCasts();
    if (const Expr* const round = round_of(index)) return Rounds{round, nullptr};
    const auto* const sum = dyn_cast<BinaryOperator>(index);
    if (sum == nullptr || sum->getOpcode() != BO_Add || !does_not_wrap(sum->getType())) return std::nullopt;
    if (const Expr* const round = round_of(sum->getLHS())) return Rounds{round, sum->getRHS()};
    if (const Expr* const round = round_of(sum->getRHS())) return Rounds{round, sum->getLHS()};
    return std::nullopt;
}

bool names_own(const Expr* expression, const Changes& in_body) {
    struct Names : RecursiveASTVisitor<Names> {
        std::set<StringRef> found;
        bool VisitDeclRefExpr(DeclRefExpr* reference) {
            if (reference->getDecl()->getIdentifier() != nullptr) found.insert(reference->getDecl()->getName());
            return true;
        }
    } names;
    names.TraverseStmt(const_cast<Expr*>(expression));
    return std::any_of(in_body.declared.begin(), in_body.declared.end(), [&](const VarDecl* one) {
        return one->getIdentifier() != nullptr && names.found.count(one->getName()) != 0;
    });
}

const VarDecl* counted_up(const Expr* step) {
    if (step == nullptr) return nullptr;
    step = step->IgnoreParens();
    if (const auto* const one = dyn_cast<UnaryOperator>(step))
        return one->isIncrementOp() ? variable(one->getSubExpr()) : nullptr;
    const auto* const add = dyn_cast<BinaryOperator>(step);
    if (add == nullptr || add->getOpcode() != BO_AddAssign) return nullptr;
    const auto* const by = dyn_cast<IntegerLiteral>(add->getRHS()->IgnoreParenImpCasts());
    return by != nullptr && by->getValue() == 1 ? variable(add->getLHS()) : nullptr;
}

const VarDecl* counted_by_threads(const Expr* step) {
    const auto* const add = step == nullptr ? nullptr : dyn_cast<BinaryOperator>(step->IgnoreParens());
    return add != nullptr && add->getOpcode() == BO_AddAssign && is_threads(add->getRHS()) ? variable(add->getLHS())
                                                                                           : nullptr;
}

bool is_index(const VarDecl* index, const Changes& in_body, const Changes& in_function) {
    if (index == nullptr || !index->hasLocalStorage() || index->getType().isVolatileQualified()) return false;
    const auto* const type = index->getType()->getAs<BuiltinType>();
    if (type == nullptr) return false;
    switch (type->getKind()) {
    case BuiltinType::Int:
    case BuiltinType::UInt:
    case BuiltinType::Long:
    case BuiltinType::ULong:
    case BuiltinType::LongLong:
    case BuiltinType::ULongLong: break;
    default: return false;
    }
    return in_body.changed.count(index) == 0 && in_function.addressed.count(index) == 0;
}

namespace {

/// What a condition reads.
class Looks : public EvaluatedVisitor<Looks> {
public:
    explicit Looks(const Changes& changes) : changes_{changes} {}

    [[nodiscard]] bool at_others() const { return memory_ && !changed_; }

    bool VisitDeclRefExpr(DeclRefExpr* name) {
        const VarDecl* const one = variable(name);
        changed_ = changed_ || (one != nullptr && changes_.changed.contains(one));
        memory_ = memory_ || Types::is_shared(name->getType());
        return true;
    }
    bool VisitUnaryOperator(UnaryOperator* operation) {
        memory_ = memory_ || operation->getOpcode() == UO_Deref;
        return true;
    }
    bool VisitMemberExpr(MemberExpr* member) {
        memory_ = memory_ || member->isArrow();
        return true;
    }
    bool VisitArraySubscriptExpr(ArraySubscriptExpr*) { return memory_ = true; }

private:
    const Changes& changes_;
    bool memory_ = false, changed_ = false;
};

[[nodiscard]] bool looks_at_others(const Changes& changes, const Expr* condition) {
    Looks looks{changes};
    looks.TraverseStmt(const_cast<Expr*>(condition));
    return looks.at_others();
}

class Choices : public RecursiveASTVisitor<Choices> {
public:
    std::vector<const Expr*> conditions;
    bool VisitIfStmt(IfStmt* choice) {
        conditions.push_back(choice->getCond());
        return true;
    }
};

} // namespace

bool waits_for_others(const ASTContext& context, const Stmt* loop, const Expr* condition) {
    if (condition == nullptr) return false;
    Changes changes;
    changes.TraverseStmt(const_cast<Stmt*>(loop));
    const auto in_variable = [](const Expr* store) {
        return variable(store) != nullptr && !Types::is_shared(store->getType());
    };
    if (changes.calls || !std::all_of(changes.stores.begin(), changes.stores.end(), in_variable)) return false;
    if (!condition->isIntegerConstantExpr(context)) return looks_at_others(changes, condition);
    Choices choices;
    choices.TraverseStmt(const_cast<Stmt*>(loop));
    return std::any_of(choices.conditions.begin(), choices.conditions.end(),
                       [&](const Expr* choice) { return looks_at_others(changes, choice); });
}

} // namespace upcc
