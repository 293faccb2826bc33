// Which loops can be written with loads and stores for where all that they access is near.
#include "near_loops.hpp"

#include "forall.hpp"
#include "loop_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

using namespace clang;

namespace upcc {

namespace {

/// Whether a loop can be written twice, and ends without another thread's help, although its loads may be moved.
class Body : public RecursiveASTVisitor<Body> {
public:
    bool possible = true;
    bool leaves = false; ///< the loop, before its end
    std::vector<const Expr*> shared;

    bool VisitStmt(Stmt* statement) {
        possible =
            possible &&
            !isa<ForStmt, WhileStmt, DoStmt, GotoStmt, IndirectGotoStmt, LabelStmt, AddrLabelExpr, AsmStmt, StmtExpr>(
                statement);
        // A label of a switch around the loop, which cannot be there twice.
        possible = possible && (switches_ > 0 || !isa<SwitchCase>(statement));
        leaves = leaves || isa<ReturnStmt>(statement) || (isa<BreakStmt>(statement) && switches_ == 0);
        return possible;
    }
    bool TraverseSwitchStmt(SwitchStmt* choice) {
        ++switches_;
        const bool go_on = RecursiveASTVisitor::TraverseSwitchStmt(choice);
        --switches_;
        return go_on;
    }
    bool VisitDecl(Decl* declaration) {
        const auto* const one = dyn_cast<VarDecl>(declaration);
        possible = possible && !declares_type(declaration) && (one == nullptr || one->hasLocalStorage());
        return possible;
    }
    bool VisitExpr(Expr* expression) {
        if (!expression->isGLValue() || !Types::is_shared(expression->getType())) return true;
        possible = possible && !expression->getType().isVolatileQualified();
        if (!expression->getType()->isArrayType()) shared.push_back(expression->IgnoreParens());
        return possible;
    }

private:
    int switches_ = 0;
};

/// Which uses of a pointer only look through it, or move it.
class Walks : public RecursiveASTVisitor<Walks> {
public:
    explicit Walks(const VarDecl* pointer) : pointer_{pointer} {}

    [[nodiscard]] bool only() const { return uses_ == walks_; }

    bool VisitDeclRefExpr(DeclRefExpr* name) {
        uses_ += name->getDecl() == pointer_ ? 1 : 0;
        return true;
    }
    bool VisitUnaryOperator(UnaryOperator* operation) {
        if (operation->getOpcode() == UO_Deref) look(operation->getSubExpr());
        return true;
    }
    bool VisitMemberExpr(MemberExpr* member) {
        if (member->isArrow()) look(member->getBase());
        return true;
    }
    bool VisitArraySubscriptExpr(ArraySubscriptExpr* subscript) {
        if (variable(subscript->getBase()) == pointer_) ++walks_;
        return true;
    }
    // Statements, whose values nobody uses.
    bool VisitCompoundStmt(CompoundStmt* statements) {
        for (Stmt* const one : statements->body()) move(one);
        return true;
    }
    bool VisitIfStmt(IfStmt* choice) {
        move(choice->getThen());
        move(choice->getElse());
        return true;
    }
    void move(const Stmt* statement) {
        const auto* const expression = dyn_cast_or_null<Expr>(statement);
        if (expression == nullptr) return;
        const auto* const operation = dyn_cast<BinaryOperator>(expression->IgnoreParens());
        if (operation != nullptr && operation->getOpcode() == BO_Comma) {
            move(operation->getLHS());
            return move(operation->getRHS());
        }
        const bool by_several = operation != nullptr &&
                                (operation->getOpcode() == BO_AddAssign || operation->getOpcode() == BO_SubAssign) &&
                                variable(operation->getLHS()) == pointer_;
        if (by_several || moved_by_one(expression) == pointer_) ++walks_;
    }

private:
    void look(const Expr* through) {
        if (variable(through) == pointer_ || moved_by_one(through) == pointer_) ++walks_;
    }

    const VarDecl* pointer_;
    int uses_ = 0, walks_ = 0;
};

/// i of a step by a constant.
[[nodiscard]] const VarDecl* counted(const Expr* step) {
    if (step == nullptr) return nullptr;
    step = step->IgnoreParens();
    // `i++, p++`: the index is the first.
    if (const auto* const both = dyn_cast<BinaryOperator>(step); both != nullptr && both->getOpcode() == BO_Comma)
        return counted(both->getLHS());
    if (const auto* const one = dyn_cast<UnaryOperator>(step))
        return one->isIncrementDecrementOp() ? variable(one->getSubExpr()) : nullptr;
    const auto* const add = dyn_cast<BinaryOperator>(step);
    if (add == nullptr || (add->getOpcode() != BO_AddAssign && add->getOpcode() != BO_SubAssign)) return nullptr;
    return isa<IntegerLiteral>(add->getRHS()->IgnoreParenImpCasts()) ? variable(add->getLHS()) : nullptr;
}

/// Whether the number of iterations is known when the loop begins.
[[nodiscard]] bool is_counted(const ForStmt* loop, const Changes& in_body, const Changes& in_function) {
    const VarDecl* const index = counted(loop->getInc());
    const auto* const test = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (!is_index(index, in_body, in_function) || test == nullptr || !test->isComparisonOp()) return false;
    const Steady steady{in_body, in_function};
    return (variable(test->getLHS()) == index && steady.number(test->getRHS())) ||
           (variable(test->getRHS()) == index && steady.number(test->getLHS()));
}

} // namespace

const VarDecl* moved_by_one(const Expr* expression) {
    const auto* const operation = dyn_cast<UnaryOperator>(expression->IgnoreParenImpCasts());
    return operation != nullptr && operation->isIncrementDecrementOp() ? variable(operation->getSubExpr()) : nullptr;
}

bool NearLoops::points_to_indefinite(QualType pointer) const {
    if (!Types::points_to_shared(pointer)) return false;
    const QualType to = Types::pointee(pointer), element = types_.element(to);
    return !element->isVoidType() && !element->isIncompleteType() && !element.isVolatileQualified() &&
           types_.layout(to).is_indefinite();
}

bool NearLoops::is_in_one_block(const Expr* array) const {
    const QualType type = array->getType();
    if (!type->isArrayType() || !Types::is_shared(type)) return false;
    const Layout layout = types_.layout(type);
    if (layout.is_indefinite()) return true;
    const auto elements = types_.elements(type);
    return layout.kind == Layout::Kind::blocks && elements && *elements != 0 && layout.block % *elements == 0;
}

const Expr* NearLoops::base_of(const Expr* lvalue) const {
    const auto of_pointer = [&](const Expr* pointer) -> const Expr* {
        pointer = pointer->IgnoreParens();
        const QualType type = pointer->getType();
        if (!Types::points_to_shared(type)) return nullptr;
        const auto* const decay = dyn_cast<ImplicitCastExpr>(pointer);
        if (decay != nullptr && decay->getCastKind() == CK_ArrayToPointerDecay) {
            const Expr* const array = decay->getSubExpr()->IgnoreParens();
            if (!is_in_one_block(array)) return nullptr;
            // The largest array around that is with one thread is the one that stays.
            const Expr* const outer = types_.layout(array->getType()).is_indefinite() ? base_of(array) : nullptr;
            return outer != nullptr ? outer : array;
        }
        if (!points_to_indefinite(type)) return nullptr;
        return decay != nullptr && decay->getCastKind() == CK_LValueToRValue ? pointer : nullptr;
    };
    lvalue = lvalue->IgnoreParens();
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(lvalue))
        return subscript->getBase()->getType()->isVectorType() ? nullptr : of_pointer(subscript->getBase());
    if (const auto* const member = dyn_cast<MemberExpr>(lvalue)) {
        if (cast<FieldDecl>(member->getMemberDecl())->isBitField()) return nullptr;
        return member->isArrow() ? of_pointer(member->getBase()) : base_of(member->getBase());
    }
    const auto* const content = dyn_cast<UnaryOperator>(lvalue);
    return content != nullptr && content->getOpcode() == UO_Deref ? of_pointer(content->getSubExpr()) : nullptr;
}

bool NearLoops::stays_in_row(const Expr* lvalue, const ForStmt* loop) const {
    const auto* const subscript = dyn_cast<ArraySubscriptExpr>(lvalue->IgnoreParens());
    if (subscript == nullptr) {
        const auto* const member = dyn_cast<MemberExpr>(lvalue->IgnoreParens());
        return member == nullptr || member->isArrow() || stays_in_row(member->getBase(), loop);
    }
    const auto* const decay = dyn_cast<ImplicitCastExpr>(subscript->getBase()->IgnoreParens());
    if (decay == nullptr || decay->getCastKind() != CK_ArrayToPointerDecay) return true;
    const Expr* const array = decay->getSubExpr()->IgnoreParens();
    if (types_.layout(array->getType()).is_indefinite()) return true;
    const ConstantArrayType* const row = context_.getAsConstantArrayType(array->getType());
    if (row == nullptr) return false;
    const auto constant = [&](const Expr* expression) -> std::optional<std::int64_t> {
        Expr::EvalResult value;
        if (expression == nullptr || !expression->EvaluateAsInt(value, context_)) return std::nullopt;
        return value.Val.getInt().getExtValue();
    };
    const auto size = static_cast<std::int64_t>(row->getSize().getZExtValue());
    if (const auto at = constant(subscript->getIdx())) return *at >= 0 && *at < size;
    // The index of a loop from a number that is not negative to one within the row.
    const VarDecl* const index = variable(subscript->getIdx());
    const auto* const test = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (index == nullptr || index != counted_up(loop->getInc()) || test == nullptr || variable(test->getLHS()) != index)
        return false;
    const auto* const assigned = dyn_cast_or_null<BinaryOperator>(loop->getInit());
    const auto* const declared = dyn_cast_or_null<DeclStmt>(loop->getInit());
    const auto first =
        assigned != nullptr && assigned->getOpcode() == BO_Assign && variable(assigned->getLHS()) == index
            ? constant(assigned->getRHS())
        : declared != nullptr && declared->isSingleDecl() && declared->getSingleDecl() == index
            ? constant(index->getInit())
            : std::nullopt;
    const auto end = constant(test->getRHS());
    if (!first || *first < 0 || !end) return false;
    return (test->getOpcode() == BO_LT && *end <= size) || (test->getOpcode() == BO_LE && *end < size);
}

NearLoop NearLoops::find(const ForStmt* loop, const FunctionDecl* function,
                         const std::function<bool(const Expr*)>& is_strict) const {
    Body body;
    body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    if (!body.possible || body.shared.empty() || std::any_of(body.shared.begin(), body.shared.end(), is_strict))
        return {};
    Changes in_body, in_function;
    in_body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    in_function.TraverseStmt(function->getBody());
    in_body.changed.insert(in_body.declared.begin(), in_body.declared.end());
    if (!is_counted(loop, in_body, in_function)) return {};
    in_body.TraverseStmt(const_cast<Expr*>(loop->getInc()));
    Always always;
    always.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    const Steady steady{in_body, in_function};
    // It may wait for what another thread writes, for a while: then its loads must not be moved.
    if (body.leaves &&
        std::any_of(body.shared.begin(), body.shared.end(), [&](const Expr* place) { return steady.place(place); }))
        return {};
    NearLoop found;
    for (const Expr* const place : body.shared) {
        const Expr* const base = base_of(place);
        // A variable can be read at any time; what else leads to a pointer, only if the first iteration does it.
        if (base == nullptr || !stays_in_row(place, loop) || names_own(base, in_body) || !steady.base(base) ||
            (variable(base) == nullptr && always.expressions.count(base) == 0))
            continue;
        found.bases.push_back(base);
    }
    for (const VarDecl* const one : in_body.changed) {
        if (!one->hasLocalStorage() || in_body.declared.count(one) != 0 || in_function.addressed.count(one) != 0 ||
            one->getType().isVolatileQualified() || !points_to_indefinite(one->getType()))
            continue;
        Walks walks{one};
        walks.TraverseStmt(const_cast<ForStmt*>(loop));
        walks.move(loop->getBody());
        walks.move(loop->getInc());
        if (walks.only()) found.walking.push_back(one);
    }
    return found;
}

} // namespace upcc
